use super::*;
use crate::Request;
use crate::chain::RequestBuf;
use crate::chain::response::FromBody;
use crate::transport::ErrorKind;

const ORDERS: &str = r#"<!DOCTYPE html><html><head><title>Orders</title>
<meta name="csrf-token" content="9b74&amp;c9"><style>a { color: red }</style></head><body>
<nav><a href="/">Home</a> <a href="/orders">  All
 <b>or</b>ders</a> <a href="/basket" aria-label="Basket"><svg></svg></a></nav>
<script>document.write('<a href="/never">Never</a>')</script>
<table><thead><tr><th>Name<th>What</thead>
<tr data-id="7"><td>Red shirt<td><a href="/orders/7/edit">Edit</a> <form action="/orders/7/delete" method="post"><input type=hidden name=size value=10><button>Delete</button></form>
<tr data-id="9"><td>Blue <i>shirt</i><td><a href="/orders/9/edit?from=list#top">Edit</a>
  <form action='/orders/9/delete' method='POST'><input type=hidden name=size value=20><button name=how value=hard>Delete</button></form>
  <table><tr><td>inner</table>
</table>
<ul><li><a href="/orders?page=1">1</a><li><a href="/orders?page=2">2</a><li>Last</ul>"#;

/// Returns the method, the URL and the body of a request.
fn sent(request: Request) -> (String, String, String) {
    let mut buffer = RequestBuf::default();
    request.write(&mut buffer).unwrap();
    let body = String::from_utf8_lossy(&buffer.body).into_owned();
    (buffer.method.to_string(), buffer.target.to_string(), body)
}

#[test]
fn links_are_found_by_their_text_or_their_pattern() {
    let page = Page::new(ORDERS);
    assert_eq!(page.link("Home").unwrap(), "/");
    assert_eq!(page.link("all orders").unwrap(), "/orders");
    assert_eq!(page.link("Basket").unwrap(), "/basket");
    assert_eq!(page.link("Edit").unwrap(), "/orders/7/edit");
    assert_eq!(
        page.link("Never").unwrap_err().to_string(),
        "the page has no link `Never`: it has `Home`, `All orders`, `Basket`, `Edit`, `1`, `2`"
    );
    let all: Vec<_> = page.addresses("/orders/*/edit").collect();
    assert_eq!(all, ["/orders/7/edit", "/orders/9/edit?from=list#top"]);
    let all: Vec<_> = page.addresses("/orders?page=*").collect();
    assert_eq!(all, ["/orders?page=1", "/orders?page=2"]);
    assert_eq!(page.addresses("/orders/*").count(), 0);
    assert_eq!(
        page.addresses("/orders/*/delete").nth(1),
        Some("/orders/9/delete")
    );
    assert_eq!(
        page.ids_in("/orders/*/*").collect::<Vec<_>>(),
        ["edit", "delete"]
    );
    assert_eq!(
        page.ids_in("/orders/*/edit").collect::<Vec<_>>(),
        ["7", "9"]
    );
    let other =
        Page::new("<a href='http://shop.test/orders/7'>x</a> <a href='http://shop.test'>y</a>");
    assert_eq!(
        other.addresses("/orders/*").next(),
        Some("http://shop.test/orders/7")
    );
    assert_eq!(page.ids_in("/ord*s?page=*").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(
        page.addresses("/orders").count(),
        3,
        "the path alone, each once"
    );
}

#[test]
fn a_text_divides_a_page() {
    let page = Page::new(
        "<ul><li><a href=/all>Latest orders by day</a></ul><h2>Open <i>orders</i></h2><a href=/1>Edit</a>\
         <h2>Latest orders of all</h2><p data-id=7>Two<li><a href=/2>Edit</a><li><a href=/3>Edit</a>",
    );
    let headings: Vec<_> = page.headings().collect();
    assert_eq!(headings, ["Open orders", "Latest orders of all"]);
    assert_eq!(
        page.after("Open  orders").unwrap().link("Edit").unwrap(),
        "/1"
    );
    let latest = page.after("Latest orders of all").unwrap();
    assert_eq!(latest.link("Edit").unwrap(), "/2");
    assert_eq!(latest.data("data-id").next(), Some("7"));
    assert_eq!(latest.rows().count(), 2);
    assert_eq!(latest.headings().count(), 0);
    assert_eq!(latest.visible_text(), "Two Edit Edit");
    let first = page.after("Latest").unwrap();
    assert_eq!(
        first.link("Edit").unwrap(),
        "/1",
        "the first place of the text"
    );
    let links: Vec<_> = first.links().map(|link| &*link.href).collect();
    assert_eq!(
        links,
        ["/1", "/2", "/3"],
        "a link that has the text is before it"
    );
    let nested = latest.row("Edit").unwrap();
    assert_eq!(nested.link("Edit").unwrap(), "/2");
    assert!(nested.after("Two").is_err());
    assert_eq!(
        latest.after("Never").unwrap_err().to_string(),
        "the page has no text `Never`"
    );
}

#[test]
fn a_row_knows_only_what_is_in_it() {
    let page = Page::new(ORDERS);
    let row = page.row("Blue shirt").unwrap();
    assert_eq!(row.link("Edit").unwrap(), "/orders/9/edit?from=list#top");
    assert_eq!(row.data("data-id").collect::<Vec<_>>(), ["9"]);
    assert_eq!(row.field("size").unwrap(), "20");
    assert!(row.link("Home").is_err());
    assert_eq!(page.row("inner").unwrap().visible_text(), "inner");
    assert!(row.row("Red shirt").is_err());
    assert_eq!(
        page.row("2").unwrap().visible_text(),
        "2",
        "the smallest row"
    );
    assert!(page.row("Green shirt").is_err());
    assert_eq!(page.data("data-id").collect::<Vec<_>>(), ["7", "9"]);
}

#[test]
fn fields_have_the_values_that_a_browser_sends() {
    let page = Page::new(
        "<form id=f><input name=a value='1 &lt; 2'><input name=b><textarea name=c>\n  two\n lines</textarea>\
         <select name=d><option value=x>X<option selected>Why <option>Zed</select>\
         <select name=e><option>first<option>second</select>\
         <select name=m multiple><option selected>1<option>2<option selected>3</select>\
         <input type=checkbox name=g><input type=checkbox name=h checked><input type=radio name=i value=1>\
         <input type=radio name=i value=2 checked><input name=j disabled value=no><input type=file name=k>\
         <input type=submit name=go value=' Save  it '><button type=button name=l>No</button></form>",
    );
    assert_eq!(page.field("a").unwrap(), "1 < 2");
    assert_eq!(page.field("c").unwrap(), "  two\n lines");
    assert_eq!(Page::new(ORDERS).field("csrf-token").unwrap(), "9b74&c9");
    let sent = |form: PageForm<'_>| sent(form.submit_to("/f")).1;
    let query = "a=1+%3C+2&b=&c=++two%0D%0A+lines&d=Why&e=first&m=1&m=3&h=on&i=2&go=+Save++it+";
    assert_eq!(sent(page.form("Save it").unwrap()), format!("/f?{query}"));
    assert_eq!(
        sent(page.form("f").unwrap().with("b", "new").with("z", "9")),
        format!("/f?{}&z=9", query.replace("b=", "b=new"))
    );
    assert_eq!(
        page.form("No").unwrap_err().to_string(),
        "the page has no form `No`: it has `Save it`, `f`"
    );
}

#[test]
fn a_form_is_sent_by_its_button() {
    let page = Page::new(ORDERS);
    let row = page.row("Blue shirt").unwrap();
    let form = row.form("Delete").unwrap();
    assert_eq!(form.action(), "/orders/9/delete");
    assert_eq!(form.field("size").unwrap(), "20");
    let (method, url, body) = sent(form.submit());
    assert_eq!(
        (method.as_str(), &*url, &*body),
        ("POST", "/orders/9/delete", "size=20&how=hard")
    );
    let page = Page::new(
        "<form action=/a><button formaction=/b formmethod=post>Up</button><input type=submit></form>",
    );
    assert_eq!(page.form("Up").unwrap().action(), "/b");
    assert_eq!(page.form("Submit").unwrap().action(), "/a");
    let page = Page::new("<form id=f><input name=a></form>");
    let request: Request = page.form("f").unwrap().submit();
    assert!(request.write(&mut RequestBuf::default()).is_err());
}

#[test]
fn a_page_within_xml_is_read() {
    let page = Page::new(
        "<?xml version='1.0'?><partial-response><changes><update id='f'><![CDATA[<form id=\"f\"><input name=\"state\" value=\"1:2\">\
         </form>]]></update></changes></partial-response>",
    );
    assert_eq!(page.field("state").unwrap(), "1:2");
}

#[test]
fn whatever_is_read_does_no_harm() {
    for html in [
        "",
        "<",
        "<a href=x",
        "</a></tr>",
        "<tr><tr><li><a href=1><a href=2>",
        "<select><option>",
        "<textarea>",
    ] {
        let page = Page::new(html);
        let _ = (
            page.visible_text(),
            page.links().count(),
            page.row("x").is_err(),
        );
    }
    // Deeper than the stack of a thread would bear.
    let deep = "<div>".repeat(10_000) + &"</b></div>".repeat(10_000);
    assert_eq!(Page::new(&deep).visible_text(), "");
}

#[test]
fn options_are_found_by_their_text_or_their_place() {
    let page = Page::new(
        "<select name=kind><option value=7>Green\n tea<option value=9 selected>Coffee</select>\
         <select name=year><option>2024</select><input type=hidden name=kind value=1><input name=kind value=2>",
    );
    assert_eq!(page.option("kind", "green tea").unwrap(), "7");
    assert_eq!(page.option("year", "2024").unwrap(), "2024");
    assert_eq!(
        page.option("kind", "Cocoa").unwrap_err().to_string(),
        "the page has no option `Cocoa`: it has `Green tea`, `Coffee`"
    );
    assert!(page.option("year", "Coffee").is_err());
    assert_eq!(page.options("kind").collect::<Vec<_>>(), ["7", "9"]);
    assert_eq!(page.field("kind").unwrap(), "9");
    let hidden = page.fields().map(|field| field.is_hidden);
    assert_eq!(hidden.collect::<Vec<_>>(), [false, false, true, false]);
}

#[test]
fn a_page_beyond_a_bound_is_a_failure_that_names_it_and_none_needs_more_than_48_mib() {
    let attributes: Vec<String> = (0..1_001).map(|i| format!(" {i:x}")).collect();
    let attributes = attributes.concat();
    let options = |name: &str, count| format!("<select name={name}>") + &"<option>o".repeat(count);
    let bytes = |count| "x".repeat(count);
    for (what, html, limit) in [
        ("open tags", "<div>".repeat(800_000), Some(PageLimit::Depth)),
        ("ends", "</i>".repeat(800_000), Some(PageLimit::Tags)),
        (
            "attributes",
            format!("<p{attributes}>"),
            Some(PageLimit::Attributes),
        ),
        (
            "many attributes",
            format!("<p {}>", "a=1 b=2 ".repeat(500_000)),
            None,
        ),
        (
            "fields",
            "<input name=i value=v>".repeat(180_000),
            Some(PageLimit::Parts),
        ),
        ("links", "<a href=/x>x</a>".repeat(100_000), None),
        ("options", options("s", 300_000), Some(PageLimit::Parts)),
        (
            "long names",
            options(&bytes(1 << 20), 99),
            Some(PageLimit::OptionNames),
        ),
        ("paragraphs", "<p data-id=1>text".repeat(100_000), None),
        ("bytes", bytes(read::MAX_BYTES), None),
        (
            "more bytes",
            bytes(read::MAX_BYTES + 1),
            Some(PageLimit::Bytes),
        ),
    ] {
        let html = Bytes::from(html);
        let mut exceeded = None;
        let used = allocation_counter::measure(|| exceeded = Page::from_bytes(&html).err());
        assert_eq!(exceeded, limit, "{what}");
        assert!(
            used.bytes_max <= 48 << 20,
            "{what}: {} bytes",
            used.bytes_max
        );
    }
}

#[test]
fn what_is_beyond_a_bound_is_too_large_or_said_to_be_unread() {
    let error = <Page as FromBody>::read_body(&"<div>".repeat(10_001).into()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BodyTooLarge);
    assert_eq!(
        error.reason,
        "the page has more than 10000 elements within each other; `String` takes any text"
    );
    let error = <Option<Page>>::read_body(&"x".repeat(read::MAX_BYTES + 1).into()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BodyTooLarge);
    let page = Page::new(&("<a href=/1>One</a>".to_owned() + &"<div>".repeat(10_001)));
    assert_eq!(page.link("One").unwrap(), "/1");
    assert_eq!(
        page.link("Two").unwrap_err().to_string(),
        "the page has no link `Two`: it has `One`; the page has more than 10000 elements within each other, and is read \
         no further"
    );
}

#[test]
fn the_smallest_row_is_found_among_rows_within_each_other() {
    let page = Page::new("<article>b<article>a<article>aa a</article></article> aaa</article>");
    assert_eq!(page.row("aaa").unwrap().visible_text(), "b a aa a aaa");
    assert_eq!(page.row("aa a").unwrap().visible_text(), "aa a");
    assert_eq!(page.row("a aa").unwrap().visible_text(), "a aa a");
    assert!(page.row("ab").is_err());
}
