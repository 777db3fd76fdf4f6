//! Users, products and orders, in memory.
//!
//! All of it is behind one lock, used where the request is handled: an operation here takes less
//! than a microsecond.

use serde::Serialize;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How many products or orders a page has.
pub(crate) const PAGE: usize = 10;

/// Nobody has to pack an order: it is packed as soon as it is old enough.
const PACKED_AFTER: Duration = Duration::from_millis(100);

/// Names and passwords, in the clear: these people do not exist.
const USERS: [(&str, &str); 4] = [
    ("ada", "lovelace"),
    ("grace", "hopper"),
    ("edsger", "dijkstra"),
    ("barbara", "liskov"),
];

/// Names, and prices in cents.
const PRODUCTS: [(&str, i64); 24] = [
    ("Teapot", 2490),
    ("Tea cup", 690),
    ("Saucer", 390),
    ("Tea strainer", 450),
    ("Tea caddy", 1290),
    ("Tea towel", 590),
    ("Sugar bowl", 890),
    ("Milk jug", 990),
    ("Cake stand", 3490),
    ("Cake fork", 290),
    ("Kettle", 4990),
    ("Egg timer", 790),
    ("Honey dipper", 350),
    ("Darjeeling, 100 g", 1150),
    ("Assam, 100 g", 850),
    ("Ceylon, 100 g", 820),
    ("Keemun, 100 g", 1080),
    ("Lapsang Souchong, 100 g", 980),
    ("Sencha, 100 g", 1240),
    ("Gyokuro, 50 g", 1890),
    ("Matcha, 30 g", 2190),
    ("Oolong, 100 g", 1390),
    ("White peony, 50 g", 1190),
    ("The last tea of 1893", 189_300),
];

/// The stock of each product but the last, of which there is one.
const STOCK: i64 = 1_000_000;

#[derive(Debug, Serialize)]
pub(crate) struct User {
    pub(crate) id: i64,
    pub(crate) name: &'static str,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Product {
    id: i64,
    name: &'static str,
    price_cents: i64,
    stock: i64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Order {
    pub(crate) id: i64,
    product: i64,
    quantity: i64,
    status: &'static str,
    total_cents: i64,
}

/// What became of an order.
#[derive(Debug)]
pub(crate) enum Placed {
    Order(Order),
    NoSuchProduct,
    OutOfStock,
}

/// An order as it is kept.
#[derive(Debug)]
struct Purchase {
    user: i64,
    product: i64,
    quantity: i64,
    total_cents: i64,
    placed_at: Instant,
}

#[derive(Debug, Default)]
struct Tables {
    /// The user of each session, by its token.
    sessions: HashMap<String, i64>,
    products: Vec<Product>,
    orders: Vec<Purchase>,
    /// Indices of `orders`, by user.
    orders_of: HashMap<i64, Vec<usize>>,
}

#[derive(Debug)]
pub(crate) struct Store(Mutex<Tables>);

impl Store {
    /// A shop in which nobody has bought anything yet.
    pub(crate) fn new() -> Self {
        let mut products: Vec<_> = (1..)
            .zip(PRODUCTS)
            .map(|(id, (name, price_cents))| Product {
                id,
                name,
                price_cents,
                stock: STOCK,
            })
            .collect();
        if let Some(last) = products.last_mut() {
            last.stock = 1;
        }
        Self(Mutex::new(Tables {
            products,
            ..Tables::default()
        }))
    }

    /// Starts a session: its token and its user, if the password is right.
    pub(crate) fn login(&self, name: &str, password: &str) -> Option<(String, User)> {
        let (id, (name, _)) = (1..)
            .zip(USERS)
            .find(|(_, user)| *user == (name, password))?;
        // Each state has random keys of its own.
        let half = || RandomState::new().hash_one(id);
        let token = format!("{:016x}{:016x}", half(), half());
        self.lock().sessions.insert(token.clone(), id);
        Some((token, User { id, name }))
    }

    /// The user whose session has this token.
    pub(crate) fn user_of(&self, token: &str) -> Option<i64> {
        self.lock().sessions.get(token).copied()
    }

    /// A page of products, counted from one.
    pub(crate) fn products(&self, page: u32) -> Vec<Product> {
        let tables = self.lock();
        let products = tables.products.iter();
        products.skip(offset(page)).take(PAGE).cloned().collect()
    }

    pub(crate) fn product(&self, id: i64) -> Option<Product> {
        let tables = self.lock();
        tables.products.get(index(id)?).cloned()
    }

    /// Takes `quantity` from the stock and writes the order, or neither.
    pub(crate) fn place(&self, user: i64, product: i64, quantity: i64) -> Placed {
        let mut tables = self.lock();
        let Some(found) = index(product).and_then(|at| tables.products.get_mut(at)) else {
            return Placed::NoSuchProduct;
        };
        if found.stock < quantity {
            return Placed::OutOfStock;
        }
        found.stock -= quantity;
        let total_cents = found.price_cents * quantity;
        let at = tables.orders.len();
        tables.orders.push(Purchase {
            user,
            product,
            quantity,
            total_cents,
            placed_at: Instant::now(),
        });
        tables.orders_of.entry(user).or_default().push(at);
        Placed::Order(tables.order(at))
    }

    /// An order, if it is one of this user's.
    pub(crate) fn order(&self, user: i64, id: i64) -> Option<Order> {
        let tables = self.lock();
        let at = index(id)?;
        (tables.orders.get(at)?.user == user).then(|| tables.order(at))
    }

    /// A page of the user's orders, counted from one, the latest first.
    pub(crate) fn orders(&self, user: i64, page: u32) -> Vec<Order> {
        let tables = self.lock();
        let all = tables.orders_of.get(&user).into_iter().flatten().rev();
        all.skip(offset(page))
            .take(PAGE)
            .map(|at| tables.order(*at))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tables {
    /// The order at `index`, which exists, as it is by now.
    fn order(&self, index: usize) -> Order {
        let order = &self.orders[index];
        let is_packed = order.placed_at.elapsed() >= PACKED_AFTER;
        Order {
            id: i64::try_from(index + 1).unwrap_or(i64::MAX),
            product: order.product,
            quantity: order.quantity,
            status: if is_packed { "packed" } else { "placed" },
            total_cents: order.total_cents,
        }
    }
}

/// The place of an entry that is counted from one.
fn index(id: i64) -> Option<usize> {
    usize::try_from(id.checked_sub(1)?).ok()
}

fn offset(page: u32) -> usize {
    page.saturating_sub(1) as usize * PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_is_sold_once() {
        let store = Store::new();
        let last = (1..)
            .map_while(|id| store.product(id))
            .find(|product| product.stock == 1)
            .unwrap();
        let sold = store.place(1, last.id, 1);
        assert!(matches!(sold, Placed::Order(order) if order.total_cents == last.price_cents));
        assert!(matches!(store.place(2, last.id, 1), Placed::OutOfStock));
        assert_eq!(store.product(last.id).unwrap().stock, 0);
        assert!(store.orders(2, 1).is_empty());
    }

    #[test]
    fn every_login_is_a_session_of_its_own() {
        let store = Store::new();
        let (one, user) = store.login("ada", "lovelace").unwrap();
        let (other, _) = store.login("ada", "lovelace").unwrap();
        assert_ne!(one, other);
        assert_eq!(store.user_of(&one), Some(user.id));
        assert_eq!(store.user_of(&other), Some(user.id));
        assert!(store.login("ada", "byron").is_none());
    }

    #[test]
    fn the_latest_orders_come_first() {
        let store = Store::new();
        for product in 1..=11 {
            assert!(matches!(store.place(1, product, 1), Placed::Order(_)));
        }
        let products = |page| {
            let orders = store.orders(1, page);
            orders.iter().map(|order| order.product).collect::<Vec<_>>()
        };
        assert_eq!(products(1), [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
        assert_eq!(products(2), [1]);
        assert!(store.order(2, 1).is_none());
    }
}
