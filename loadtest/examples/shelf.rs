//! A shop that speaks GraphQL, and a load test of it.
//!
//! ```console
//! $ cargo test -p loadtest --example shelf     # the journey once
//! $ cargo loadtest run -p loadtest shelf      # under load
//! ```
//!
//! The server parses each document, and answers what it selects: fields with arguments and aliases, variables with
//! defaults, and fragments. A field that fails is null, and its error has its path.

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use graphql_parser::query::{
    Definition, Document, Field, FragmentDefinition, OperationDefinition, Selection, SelectionSet,
    Type, TypeCondition, Value as Literal, VariableDefinition, parse_query,
};
use loadtest::prelude::*;
use serde::Deserialize;
use serde_json::Map;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

#[response]
struct Shelf {
    products: Vec<Product>,
}

#[response]
struct Product {
    id: String,
    /// In cents.
    price: Option<u64>,
}

#[response]
struct Opened {
    open_cart: Cart,
}

#[response]
struct Added {
    add: Cart,
}

#[response]
struct Found {
    cart: Cart,
}

#[response]
struct Cart {
    id: String,
    total: u64,
}

/// A customer looks at the shelf, and buys the first product that has a price.
#[scenario(load = rate(50/s, ramp_up = 2s, for = 8s))]
fn shelf() {
    #[setup]
    fn server() -> Result<Target, TargetError> {
        Target::serve(|listener| async move {
            let router = Router::new().route("/graphql", post(answer));
            axum::serve(listener, router.with_state(Shop::open())).await
        })
    }

    /// One of the products has no price: the answer has an error in addition to its data.
    #[step(
        graphql = "query Shelf($first: Int = 3) { products(first: $first) { ...card } } fragment card on Product { id price }",
        partial = true,
        check = |shelf| shelf.errors().len() == 1 && shelf.errors()[0].extensions()["code"] == "NO_PRICE",
        p95 < 100ms,
    )]
    fn products() -> Graph<Shelf>;

    #[step(graphql = "mutation Open { open_cart: openCart { id total } }")]
    fn open() -> Opened;

    #[step]
    fn add(products: &Graph<Shelf>, open: &Opened) -> Request<Graph<Added>> {
        let product = products.products.iter().find(|one| one.price.is_some());
        Request::graphql(
            "mutation Add($cart: ID!, $product: ID!) { add(cart: $cart, product: $product, quantity: 2) { id total } }",
        )
        .variables(&json!({ "cart": open.open_cart.id, "product": product.map(|one| &one.id) }))
    }

    #[step(
        graphql = "query Cart($id: ID!) { cart(id: $id) { id total } }",
        variables = { "id": {{add.response.add.id}} },
        check = |found| found.cart.total == 2_500,
    )]
    fn cart() -> Found;
}

/// Names, and prices in cents if they have one.
const PRODUCTS: [(&str, Option<u64>); 4] = [
    ("a book that is not out yet", None),
    ("a pen", Some(1_250)),
    ("a notebook", Some(700)),
    ("a lamp", Some(6_000)),
];

/// The carts, with the products in them and how many of each.
struct Shop(Mutex<Vec<Vec<(usize, u64)>>>);

/// What fields are selected of.
enum Node {
    Query,
    Mutation,
    Product(usize),
    Cart(usize),
}

/// The value of a field.
enum Resolved {
    Leaf(Value),
    One(Node),
    Many(Vec<Node>),
}

/// Why a field has no value, and a code.
struct FieldError(String, &'static str);

impl Shop {
    fn open() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    fn resolve(
        &self,
        node: &Node,
        field: &str,
        given: &Map<String, Value>,
    ) -> Result<Resolved, FieldError> {
        let number = |name: &str| {
            let value = &given.get(name).unwrap_or(&Value::Null);
            let parsed = value.as_str().and_then(|text| text.parse().ok());
            let number = parsed.or(value.as_u64());
            number.ok_or_else(|| FieldError(format!("`{name}` is {value}"), "BAD_INPUT"))
        };
        let index = |name: &str, count: usize| {
            let index = number(name)? as usize;
            let known = (index < count).then_some(index);
            known.ok_or_else(|| FieldError(format!("there is no {name} {index}"), "NOT_FOUND"))
        };
        let mut carts = self.0.lock().expect("no panic");
        Ok(match (node, field) {
            (Node::Query, "products") => {
                let first = (number("first")? as usize).min(PRODUCTS.len());
                Resolved::Many((0..first).map(Node::Product).collect())
            }
            (Node::Query, "cart") => Resolved::One(Node::Cart(index("id", carts.len())?)),
            (Node::Mutation, "openCart") => {
                carts.push(Vec::new());
                Resolved::One(Node::Cart(carts.len() - 1))
            }
            (Node::Mutation, "add") => {
                let cart = index("cart", carts.len())?;
                let product = index("product", PRODUCTS.len())?;
                carts[cart].push((product, number("quantity")?));
                Resolved::One(Node::Cart(cart))
            }
            (Node::Product(product) | Node::Cart(product), "id") => {
                Resolved::Leaf(product.to_string().into())
            }
            (Node::Product(product), "name") => Resolved::Leaf(PRODUCTS[*product].0.into()),
            (Node::Product(product), "price") => match PRODUCTS[*product] {
                (_, Some(price)) => Resolved::Leaf(price.into()),
                (name, None) => return Err(FieldError(format!("{name} has no price"), "NO_PRICE")),
            },
            (Node::Cart(cart), "total") => {
                let price = |&(product, count): &(usize, u64)| {
                    PRODUCTS[product].1.unwrap_or_default() * count
                };
                Resolved::Leaf(carts[*cart].iter().map(price).sum::<u64>().into())
            }
            (node, "__typename") => Resolved::Leaf(node.type_name().into()),
            (node, field) => {
                let words = format!("{} has no field `{field}`", node.type_name());
                return Err(FieldError(words, "VALIDATION"));
            }
        })
    }
}

impl Node {
    fn type_name(&self) -> &'static str {
        match self {
            Self::Query => "Query",
            Self::Mutation => "Mutation",
            Self::Product(_) => "Product",
            Self::Cart(_) => "Cart",
        }
    }
}

/// What is posted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    query: String,
    #[serde(default)]
    variables: Option<Map<String, Value>>,
    operation_name: Option<String>,
}

async fn answer(State(shop): State<Arc<Shop>>, Json(asked): Json<Asked>) -> Json<Value> {
    let executed = parse_query::<String>(&asked.query)
        .map_err(|error| error.to_string())
        .and_then(|document| execute(&shop, &document.into_static(), &asked));
    Json(executed.unwrap_or_else(|message| json!({ "errors": [{ "message": message }] })))
}

type Definitions<'a> = BTreeMap<&'a str, &'a FragmentDefinition<'static, String>>;

/// Executes the operation that is asked for.
fn execute<'a>(
    shop: &'a Shop,
    document: &'a Document<'static, String>,
    asked: &Asked,
) -> Result<Value, String> {
    let mut fragments = Definitions::new();
    let mut operations = Vec::new();
    for definition in &document.definitions {
        match definition {
            Definition::Fragment(fragment) => {
                fragments.insert(&fragment.name, fragment);
            }
            Definition::Operation(operation) => operations.push(describe(operation)),
        }
    }
    let wanted = asked.operation_name.as_deref();
    let mut found = operations
        .into_iter()
        .filter(|operation| wanted.is_none() || operation.name == wanted);
    let (Some(operation), None) = (found.next(), found.next()) else {
        return Err("which operation is to run is not clear".to_owned());
    };
    let mut execution = Execution {
        shop,
        fragments,
        variables: operation.read_variables(asked.variables.as_ref())?,
        errors: Vec::new(),
    };
    let data = execution.select_all(&operation.root, operation.selected, &[]);
    let mut answer = json!({ "data": data });
    if !execution.errors.is_empty() {
        answer["errors"] = execution.errors.into();
    }
    Ok(answer)
}

/// An operation of a document.
struct Operation<'a> {
    name: Option<&'a str>,
    root: Node,
    variables: &'a [VariableDefinition<'static, String>],
    selected: &'a SelectionSet<'static, String>,
}

fn describe<'a>(operation: &'a OperationDefinition<'static, String>) -> Operation<'a> {
    let (name, root, variables, selected) = match operation {
        OperationDefinition::SelectionSet(selected) => (None, Node::Query, &[][..], selected),
        OperationDefinition::Query(query) => (
            query.name.as_deref(),
            Node::Query,
            &*query.variable_definitions,
            &query.selection_set,
        ),
        OperationDefinition::Mutation(mutation) => (
            mutation.name.as_deref(),
            Node::Mutation,
            &*mutation.variable_definitions,
            &mutation.selection_set,
        ),
        OperationDefinition::Subscription(subscription) => (
            subscription.name.as_deref(),
            Node::Query,
            &*subscription.variable_definitions,
            &subscription.selection_set,
        ),
    };
    Operation {
        name,
        root,
        variables,
        selected,
    }
}

impl Operation<'_> {
    /// The variables that are given, and the defaults of the others.
    fn read_variables(
        &self,
        given: Option<&Map<String, Value>>,
    ) -> Result<Map<String, Value>, String> {
        let mut all = Map::new();
        for declared in self.variables {
            let name = &declared.name;
            let value = given.and_then(|given| given.get(name)).cloned();
            let default = || {
                declared
                    .default_value
                    .as_ref()
                    .map(|value| to_json(value, &all))
            };
            let value = value.or_else(default).unwrap_or_default();
            if value.is_null() && matches!(declared.var_type, Type::NonNullType(_)) {
                return Err(format!("the variable `${name}` is missing"));
            }
            all.insert(name.clone(), value);
        }
        Ok(all)
    }
}

/// An operation that is executed.
struct Execution<'a> {
    shop: &'a Shop,
    fragments: Definitions<'a>,
    variables: Map<String, Value>,
    errors: Vec<Value>,
}

impl Execution<'_> {
    /// An object with what is selected of `node`, which is at `path`.
    fn select_all(
        &mut self,
        node: &Node,
        selected: &SelectionSet<'static, String>,
        path: &[Value],
    ) -> Value {
        let mut data = Map::new();
        self.select(node, selected, path, &mut data);
        data.into()
    }

    /// Adds what is selected of `node`, which is at `path`, to `data`.
    fn select(
        &mut self,
        node: &Node,
        selected: &SelectionSet<'static, String>,
        path: &[Value],
        data: &mut Map<String, Value>,
    ) {
        for selection in &selected.items {
            match selection {
                Selection::Field(field) => {
                    let name = field.alias.as_ref().unwrap_or(&field.name).clone();
                    let path = [path, &[name.clone().into()]].concat();
                    let value = self.resolve(node, field, &path);
                    data.insert(name, value);
                }
                Selection::FragmentSpread(spread) => {
                    if let Some(fragment) = self.fragments.get(&*spread.fragment_name).copied() {
                        let TypeCondition::On(type_name) = &fragment.type_condition;
                        if type_name == node.type_name() {
                            self.select(node, &fragment.selection_set, path, data);
                        }
                    }
                }
                Selection::InlineFragment(fragment) => {
                    let is_other = fragment
                        .type_condition
                        .as_ref()
                        .is_some_and(|TypeCondition::On(type_name)| type_name != node.type_name());
                    if !is_other {
                        self.select(node, &fragment.selection_set, path, data);
                    }
                }
            }
        }
    }

    /// The value of a field; null of one that fails.
    fn resolve(&mut self, node: &Node, field: &Field<'static, String>, path: &[Value]) -> Value {
        let given = field.arguments.iter();
        let given = given.map(|(name, value)| (name.clone(), to_json(value, &self.variables)));
        match self.shop.resolve(node, &field.name, &given.collect()) {
            Ok(Resolved::Leaf(value)) => value,
            Ok(Resolved::One(node)) => self.select_all(&node, &field.selection_set, path),
            Ok(Resolved::Many(nodes)) => {
                let nodes = nodes.iter().enumerate().map(|(at, node)| {
                    let path = [path, &[at.into()]].concat();
                    self.select_all(node, &field.selection_set, &path)
                });
                nodes.collect()
            }
            Err(FieldError(message, code)) => {
                let extensions = json!({ "code": code });
                self.errors
                    .push(json!({ "message": message, "path": path, "extensions": extensions }));
                Value::Null
            }
        }
    }
}

/// A value of a document with its variables filled in.
fn to_json(value: &Literal<'static, String>, variables: &Map<String, Value>) -> Value {
    match value {
        Literal::Variable(name) => variables.get(name).cloned().unwrap_or_default(),
        Literal::Int(number) => number.as_i64().into(),
        Literal::Float(number) => (*number).into(),
        Literal::String(text) | Literal::Enum(text) => text.as_str().into(),
        Literal::Boolean(flag) => (*flag).into(),
        Literal::Null => Value::Null,
        Literal::List(all) => all.iter().map(|one| to_json(one, variables)).collect(),
        Literal::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, one)| (name.clone(), to_json(one, variables)));
            Value::Object(fields.collect())
        }
    }
}

loadtest::main!();
