//! What a script imports and exports.

use super::script::Script;
use super::value::Js;
use crate::syntax::{children_of, inner_of, nodes_below, part_of, span_of, string_value};
use tree_sitter::Node;

/// The name that the default export has here.
pub(super) const DEFAULT: &str = "default";
/// What other modules of k6 are in the language.
pub(super) const WEB_SOCKETS: &str = "WebSockets are steps with `ws = \"..\"`: write them";
pub(super) const GRPC: &str = "calls of gRPC are `async` steps with `http.grpc()`: write them";

/// What a script exports.
pub(super) struct Export<'t> {
    pub(super) name: String,
    pub(super) node: Node<'t>,
    /// The expression that it is.
    pub(super) code: Node<'t>,
    pub(super) value: Js<'t>,
}

impl<'t> Script<'_, 't> {
    /// Reads what a script imports.
    pub(super) fn read_imports(&mut self, root: Node<'t>) {
        for node in children_of(root) {
            let source = part_of(node, "source").filter(|_| node.kind() == "import_statement");
            let Some(source) = source else { continue };
            let from = string_value(source, self.source);
            let words = match from.as_str() {
                "k6/ws" | "k6/websockets" | "k6/experimental/websockets" => Some(WEB_SOCKETS),
                "k6/net/grpc" | "k6/experimental/grpc" => Some(GRPC),
                _ => None,
            };
            if let Some(words) = words {
                self.migration.note(&span_of(source), words);
            }
            let module = match from.as_str() {
                "k6/http" => "http.",
                "k6/execution" => "exec.",
                "k6/encoding" => "encoding.",
                "k6/metrics" => "metrics.",
                "k6/data" | "k6" => "",
                _ if from.starts_with("k6") => "k6.",
                _ if from.starts_with('.') => "file.",
                _ => "",
            };
            let whole = module.trim_end_matches('.');
            for name in nodes_below(node) {
                let mut parts = children_of(name).into_iter();
                let local = match name.kind() {
                    "import_specifier" => part_of(name, "alias").or(part_of(name, "name")),
                    "import_clause" | "namespace_import" => {
                        parts.find(|part| part.kind() == "identifier")
                    }
                    _ => None,
                };
                let Some(local) = local.map(|local| self.text(local)) else {
                    continue;
                };
                let is_papaparse = from.to_ascii_lowercase().contains("papaparse");
                let native = match part_of(name, "name").map(|name| self.text(name)) {
                    // `import { default as http }`
                    Some("default") => whole.to_owned(),
                    Some(original) => format!("{module}{original}"),
                    None if module.is_empty() && is_papaparse => "papaparse".to_owned(),
                    None if ["", "k6.", "file."].contains(&module) => format!("{module}{local}"),
                    None => whole.to_owned(),
                };
                self.set_variable(0, local, Js::Native(native), true);
            }
        }
    }

    /// Walks through the statements of the script itself, and returns what it exports.
    pub(super) fn read_exports(&mut self, root: Node<'t>) -> Vec<Export<'t>> {
        self.is_outside = true;
        self.declare_functions(root, 0);
        let mut exports = Vec::new();
        for child in children_of(root) {
            let Some(value) = part_of(child, "value").or(part_of(child, "declaration")) else {
                if child.kind() != "export_statement" {
                    self.walk(child, 0);
                }
                // `export { visit as default }`
                let within = nodes_below(child).into_iter();
                for node in within.filter(|node| node.kind() == "export_specifier") {
                    if let Some(name) = part_of(node, "name") {
                        let alias = part_of(node, "alias").unwrap_or(name);
                        exports.push((self.text(alias).to_owned(), node, name));
                    }
                }
                continue;
            };
            if self.text(child).starts_with("export default") {
                exports.push((DEFAULT.to_owned(), child, inner_of(value)));
                continue;
            }
            self.walk(value, 0);
            for node in [vec![value], children_of(value)].concat() {
                if let Some(name) = part_of(node, "name") {
                    exports.push((self.text(name).to_owned(), node, name));
                }
            }
        }
        self.is_outside = false;
        if !exports.iter().any(|(name, ..)| name == "options") {
            let declared = self.declarator("options");
            let declared = declared.and_then(|node| Some((node, part_of(node, "name")?)));
            exports.extend(declared.map(|(node, name)| ("options".to_owned(), node, name)));
        }
        let exports = exports.into_iter().map(|(name, node, value)| {
            let declared = self.declarator(self.text(value));
            let bound = declared.and_then(|node| part_of(node, "value"));
            Export {
                name,
                node,
                code: bound.unwrap_or(value),
                value: self.value(value, 0),
            }
        });
        let exports = exports.collect();
        self.own_changes = self.changes.len();
        exports
    }

    /// Returns the first declaration of a variable.
    pub(super) fn declarator(&self, name: &str) -> Option<Node<'t>> {
        let mut nodes = self.nodes.all.iter().copied();
        nodes.find(|node| {
            let declared = part_of(*node, "name");
            node.kind() == "variable_declarator"
                && declared.is_some_and(|declared| self.text(declared) == name)
        })
    }
}

impl<'t> Export<'t> {
    /// Returns the name of its function.
    pub(super) fn value_name(&self) -> Node<'t> {
        match &self.value {
            Js::Function(function, ..) => part_of(*function, "name").unwrap_or(self.node),
            _ => self.node,
        }
    }
}
