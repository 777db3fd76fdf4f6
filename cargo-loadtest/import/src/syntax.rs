//! The syntax trees of scripts: of k6, and of collections of Postman.

use super::source::{Input, Mistake, Span};
use tree_sitter::{Node, Parser, Tree};

/// Deepest nesting of the tree.
const DEEPEST: usize = 400;

/// Parses a script of JavaScript or TypeScript.
pub(super) fn parse_script(input: &Input) -> Result<Tree, Mistake> {
    if input.text.trim().is_empty() {
        return Err(Mistake::new(0..0, "there is nothing in it"));
    }
    let tree = parse_text(&input.text);
    let tree = tree.ok_or_else(|| Mistake::new(0..0, "this cannot be parsed"))?;
    check_tree(&tree, true)?;
    Ok(tree)
}

/// Parses a script, which may be broken in places; returns nothing where it is too deep.
pub(super) fn parse_lenient(text: &str) -> Option<Tree> {
    parse_text(text).filter(|tree| check_tree(tree, false).is_ok())
}

fn parse_text(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    let language = tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into();
    parser.set_language(&language).ok()?;
    parser.parse(text, None)
}

/// Refuses mistakes and trees that are too deep.
fn check_tree(tree: &Tree, is_strict: bool) -> Result<(), Mistake> {
    let mut cursor = tree.walk();
    let has_error = is_strict && tree.root_node().has_error();
    let mut depth = 0;
    loop {
        let node = cursor.node();
        if has_error && (node.is_error() || node.is_missing()) {
            // It begins long before the word that does not fit.
            let children = node.child_count();
            let last = children.checked_sub(1).and_then(|at| node.child(at as u32));
            let span = first_word(last.unwrap_or(node));
            return Err(Mistake::new(span, "this is not JavaScript or TypeScript"));
        }
        if depth > DEEPEST {
            return Err(Mistake::new(first_word(node), "this is nested too deeply"));
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(());
            }
            depth -= 1;
        }
    }
}

/// Returns the part of a node that has this name in the grammar.
pub(super) fn part_of<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

/// Returns the place of a node.
pub(super) fn span_of(node: Node<'_>) -> Span {
    node.byte_range()
}

/// Returns the place at which the first word of a node begins.
pub(super) fn first_word(node: Node<'_>) -> Span {
    let start = node.start_byte();
    start..node.end_byte().min(start + 1)
}

/// Returns the text of a node.
pub(super) fn text_of<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// Returns the children that are no punctuation and no comments.
pub(super) fn children_of(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    let children = node.named_children(&mut cursor);
    children.filter(|child| child.kind() != "comment").collect()
}

/// Returns the inside of parentheses, casts and `await`.
pub(super) fn inner_of(mut node: Node<'_>) -> Node<'_> {
    while let "parenthesized_expression"
    | "as_expression"
    | "satisfies_expression"
    | "non_null_expression"
    | "await_expression" = node.kind()
        && let Some(inner) = children_of(node).first()
    {
        node = *inner;
    }
    node
}

/// Returns true for a function or a method.
pub(super) fn is_function(node: Node<'_>) -> bool {
    let kind = node.kind();
    matches!(
        kind,
        "arrow_function" | "function_expression" | "function_declaration"
    ) || matches!(kind, "generator_function" | "method_definition")
        || kind == "generator_function_declaration"
}

/// Returns all nodes below one, in their order.
pub(super) fn nodes_below(node: Node<'_>) -> Vec<Node<'_>> {
    nodes_where(node, |_| true)
}

/// Returns all nodes below one that are in no function of their own.
pub(super) fn nodes_within(node: Node<'_>) -> Vec<Node<'_>> {
    nodes_where(node, |child| !is_function(child))
}

fn nodes_where<'t>(node: Node<'t>, is_entered: impl Fn(Node<'t>) -> bool) -> Vec<Node<'t>> {
    let mut nodes = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        nodes.push(node);
        let children = children_of(node).into_iter().rev();
        open.extend(children.filter(|child| is_entered(*child)));
    }
    nodes
}

/// Returns the text that a literal of a string has.
pub(super) fn string_value(node: Node<'_>, source: &str) -> String {
    let mut value = String::new();
    for part in children_of(node) {
        let text = text_of(part, source);
        match part.kind() {
            "escape_sequence" => unescape(text, &mut value),
            _ => value.push_str(text),
        }
    }
    value
}

/// Appends the letter of an escape such as `\n`.
pub(super) fn unescape(escape: &str, value: &mut String) {
    let code = escape.strip_prefix('\\').unwrap_or(escape);
    let digits = code.trim_start_matches(['u', 'x']).trim_matches(['{', '}']);
    match code.chars().next() {
        Some('n') => value.push('\n'),
        Some('r') => value.push('\r'),
        Some('t') => value.push('\t'),
        Some('b') => value.push('\u{8}'),
        Some('f') => value.push('\u{c}'),
        Some('v') => value.push('\u{b}'),
        Some('0') if code.len() == 1 => value.push('\0'),
        Some('u' | 'x') => {
            let letter = u32::from_str_radix(digits, 16)
                .ok()
                .and_then(char::from_u32);
            value.push(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Some('\n' | '\r') | None => {}
        Some(letter) => value.push(letter),
    }
}
