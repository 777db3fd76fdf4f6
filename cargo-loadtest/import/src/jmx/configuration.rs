//! Elements that say something about all samplers at their level and below: headers, variables, data.

use super::element::{Element, PlanItem};
use super::plan::{Around, PlanReader, is_silent};
use super::sampler::add_headers;
use super::variables::{Variable, Variables, numbers};
use crate::recording::{Feed, FeedOrder, FeedSource, Text};
use crate::text::singular;

/// The last words of classes that say something about others.
const CONFIG_ENDS: &str =
    "Manager Timer Assertion Extractor PostProcessor PreProcessor ThreadGroup";

impl<'e> PlanReader<'e> {
    /// Adds what the elements of one level say about all samplers there and below.
    pub(super) fn configure(&mut self, items: &[PlanItem<'e>], around: &mut Around<'e>) {
        for item in items.iter().filter(|item| item.element.is_enabled()) {
            let element = item.element;
            let class = element.class();
            match class {
                "HeaderManager" => add_headers(&mut around.settings.headers, element),
                "ConfigTestElement" | "HttpDefaults" => around.settings.defaults.push(element),
                "CookieManager" => {
                    let sent = element.list("CookieManager.cookies");
                    if !sent.is_empty() {
                        let words = "its cookies are not sent: write a `header(\"cookie\", ..)`";
                        self.migration.note(&element.span, words);
                        sent.iter().for_each(Element::mark_all);
                    }
                    self.cookies = Some(element);
                }
                "AuthManager" => around
                    .settings
                    .credentials
                    .extend(element.list("AuthManager.auth_list")),
                "Arguments" => define(&mut around.variables, element.list("Arguments.arguments")),
                "CSVDataSet" => self.add_data(element, &mut around.variables),
                "CounterConfig" | "RandomVariableConfig" => {
                    self.add_numbers(element, &mut around.variables);
                }
                _ if class.ends_with("Timer") => around.timers.push(element),
                _ if class.ends_with("Assertion") => around.assertions.push(element),
                _ if is_silent(class) => {}
                _ if class.ends_with("Extractor") || class.ends_with("PostProcessor") => {
                    around.extractors.push(element);
                }
                _ if class.ends_with("PreProcessor") || class == "UserParameters" => {
                    self.leave_code(item);
                    for name in element.list("UserParameters.names") {
                        let name = name.text().to_owned();
                        around.variables.insert(name, Variable::Unknown);
                    }
                }
                _ => {}
            }
        }
    }

    fn add_data(&mut self, element: &Element, variables: &mut Variables) {
        let file = self.scope(variables).text_of(element, "filename");
        let names = element.text_of("variableNames");
        let file = file.as_literal().unwrap_or_default();
        if file.is_empty() {
            let words = "the name of its file is not known: write the feed";
            return self.migration.note(&element.span, words);
        }
        let delimiter = element.text_of("delimiter");
        if !["", ","].contains(&delimiter) {
            let words = format!(
                "the cells of `{file}` are separated by `{delimiter}`: write them with commas"
            );
            self.migration.note(&element.span, words);
        }
        let is_once = element.text_of("recycle") == "false";
        let stops = element.is_set("stopThread");
        let stem = file.rsplit(['/', '\\']).next().unwrap_or_default();
        let feed = Feed {
            name: singular(stem.split('.').next().unwrap_or_default()),
            source: FeedSource::Csv(file.to_owned()),
            order: FeedOrder::Sequential,
            stops: is_once && stops,
        };
        let words = match element.text_of("shareMode") {
            "shareMode.thread" => "each user reads all rows from the first one",
            "shareMode.group" => "",
            _ if self.groups > 1 => "the groups of threads share the rows",
            _ => "",
        };
        if !words.is_empty() {
            let words =
                format!("{words} of `{file}` in the plan; here the users of a scenario share them");
            self.migration.note(&element.span, words);
        }
        if is_once && !stops {
            let words = format!("after the last row of `{file}` the first one comes again");
            self.migration.note(&element.span, words);
        }
        let number = self.migration.feed(format!("{:?}", element.span), feed);
        if names.trim().is_empty() {
            let words = format!(
                "the columns of `{file}` are named in its first line: the variables have their names"
            );
            return self.migration.note(&element.span, words);
        }
        if !element.is_set("ignoreFirstLine") {
            let words = format!("the first line of `{file}` must name its columns: `{names}`");
            self.migration.note(&element.span, words);
        }
        let names = names.split(',').map(str::trim);
        for name in names.filter(|name| !name.is_empty()) {
            let text = Text::row(number, Some(name.to_owned()));
            variables.insert(name.to_owned(), Variable::Value(text));
        }
    }

    fn add_numbers(&mut self, element: &Element, variables: &mut Variables) {
        let is_counter = element.class() == "CounterConfig";
        let ([name, low, high], order) = if is_counter {
            let names = ["name", "start", "end"].map(|name| format!("CounterConfig.{name}"));
            (names, FeedOrder::Sequential)
        } else {
            let names = ["variableName", "minimumValue", "maximumValue"];
            (names.map(str::to_owned), FeedOrder::Random)
        };
        let name = element.text_of(&name).trim();
        let number = |name: &str| element.text_of(name).trim().parse::<i64>().ok();
        let low = number(&low).unwrap_or(0);
        let high = number(&high).filter(|high| !is_counter || high - low < 1_000_000);
        let high = high.or_else(|| is_counter.then_some(low.saturating_add(999_999)));
        let is_plain = ["", "1"].contains(&element.text_of("CounterConfig.incr").trim())
            && element.text_of("CounterConfig.format").is_empty()
            && element.text_of("outputFormat").is_empty();
        let value = high.filter(|_| is_plain);
        let value = value.and_then(|high| numbers(&mut self.migration, name, (low, high), order));
        let value = value.map_or(Variable::Unknown, Variable::Value);
        variables.insert(name.to_owned(), value);
    }
}

/// Defines the variables of a list of arguments.
pub(super) fn define(variables: &mut Variables, arguments: &[Element]) {
    for argument in arguments {
        let name = argument.text_of("Argument.name").trim().to_owned();
        let value = argument.text_of("Argument.value").to_owned();
        variables.insert(name, Variable::Template(value));
    }
}

/// Returns true for an element that says something about others.
pub(super) fn is_config(class: &str) -> bool {
    match class {
        "ConfigTestElement"
        | "Arguments"
        | "CSVDataSet"
        | "CounterConfig"
        | "RandomVariableConfig"
        | "UserParameters"
        | "KeystoreConfig" => true,
        class => CONFIG_ENDS.split(' ').any(|end| class.ends_with(end)),
    }
}
