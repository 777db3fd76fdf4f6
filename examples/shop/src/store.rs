//! Users, products and orders in `SQLite`.
//!
//! One connection behind one lock, used where the request is handled: a statement here takes
//! microseconds, less than handing it to a thread that may block and waiting for the answer.

use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use serde::Serialize;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many products or orders a page has.
pub(crate) const PAGE: u32 = 10;

#[derive(Debug, Serialize)]
pub(crate) struct User {
    pub(crate) id: i64,
    pub(crate) name: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Product {
    id: i64,
    name: String,
    price_cents: i64,
    stock: i64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Order {
    pub(crate) id: i64,
    product: i64,
    quantity: i64,
    status: String,
    total_cents: i64,
}

/// What became of an order.
#[derive(Debug)]
pub(crate) enum Placed {
    Order(Order),
    NoSuchProduct,
    OutOfStock,
}

#[derive(Debug)]
pub(crate) struct Store(Mutex<Connection>);

impl Store {
    /// Opens the database in a file, or one in memory, and fills it if it is new.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let mut connection = match path {
            Some(path) => Connection::open(path)?,
            None => Connection::open_in_memory()?,
        };
        // An order is safe from a crash of this program, and does not wait for the disk.
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "off")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        let new = !connection.table_exists(None, "users")?;
        if new {
            let filling = connection.transaction()?;
            filling.execute_batch(include_str!("schema.sql"))?;
            filling.commit()?;
        }
        Ok(Self(Mutex::new(connection)))
    }

    /// Whether the database answers.
    pub(crate) fn ping(&self) -> Result<()> {
        self.lock()
            .prepare_cached("select 1")?
            .query_one([], |_| Ok(()))
    }

    /// Starts a session: its token and its user, if the password is right.
    pub(crate) fn login(&self, name: &str, password: &str) -> Result<Option<(String, User)>> {
        let db = self.lock();
        let user = db
            .prepare_cached("select id, name from users where name = ?1 and password = ?2")?
            .query_one([name, password], |row| {
                Ok(User {
                    id: row.get(0)?,
                    name: row.get(1)?,
                })
            })
            .optional()?;
        let Some(user) = user else { return Ok(None) };
        let token = db
            .prepare_cached(
                "insert into sessions (token, user_id) values (lower(hex(randomblob(16))), ?1)
                 returning token",
            )?
            .query_one([user.id], |row| row.get(0))?;
        Ok(Some((token, user)))
    }

    /// The user whose session has this token.
    pub(crate) fn user_of(&self, token: &str) -> Result<Option<i64>> {
        self.lock()
            .prepare_cached("select user_id from sessions where token = ?1")?
            .query_one([token], |row| row.get(0))
            .optional()
    }

    /// A page of products, counted from one.
    pub(crate) fn products(&self, page: u32) -> Result<Vec<Product>> {
        self.lock()
            .prepare_cached(
                "select id, name, price_cents, stock from products order by id limit ?1 offset ?2",
            )?
            .query_map([i64::from(PAGE), offset(page)], product)?
            .collect()
    }

    pub(crate) fn product(&self, id: i64) -> Result<Option<Product>> {
        self.lock()
            .prepare_cached("select id, name, price_cents, stock from products where id = ?1")?
            .query_one([id], product)
            .optional()
    }

    /// Takes `quantity` from the stock and writes the order, or neither.
    pub(crate) fn place(&self, user: i64, product: i64, quantity: i64) -> Result<Placed> {
        let mut db = self.lock();
        let transaction = db.transaction()?;
        let price: Option<i64> = transaction
            .prepare_cached(
                "update products set stock = stock - ?2 where id = ?1 and stock >= ?2
                 returning price_cents",
            )?
            .query_one([product, quantity], |row| row.get(0))
            .optional()?;
        let Some(price) = price else {
            let exists = transaction
                .prepare_cached("select 1 from products where id = ?1")?
                .exists([product])?;
            return Ok(if exists {
                Placed::OutOfStock
            } else {
                Placed::NoSuchProduct
            });
        };
        let order = transaction
            .prepare_cached(
                "insert into orders (user_id, product_id, quantity, total_cents)
                 values (?1, ?2, ?3, ?4)
                 returning id, product_id, quantity, 'placed', total_cents",
            )?
            .query_one(params![user, product, quantity, price * quantity], order)?;
        transaction.commit()?;
        Ok(Placed::Order(order))
    }

    /// An order, if it is one of this user's.
    pub(crate) fn order(&self, user: i64, id: i64) -> Result<Option<Order>> {
        self.lock()
            .prepare_cached(
                "select id, product_id, quantity, status, total_cents from orders_now
                 where id = ?1 and user_id = ?2",
            )?
            .query_one([id, user], order)
            .optional()
    }

    /// A page of the user's orders, counted from one, the latest first.
    pub(crate) fn orders(&self, user: i64, page: u32) -> Result<Vec<Order>> {
        self.lock()
            .prepare_cached(
                "select id, product_id, quantity, status, total_cents from orders_now
                 where user_id = ?1 order by id desc limit ?2 offset ?3",
            )?
            .query_map([user, i64::from(PAGE), offset(page)], order)?
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A transaction that a panic left open is rolled back when it unwinds.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn offset(page: u32) -> i64 {
    i64::from(page.saturating_sub(1)) * i64::from(PAGE)
}

fn product(row: &Row<'_>) -> Result<Product> {
    Ok(Product {
        id: row.get(0)?,
        name: row.get(1)?,
        price_cents: row.get(2)?,
        stock: row.get(3)?,
    })
}

fn order(row: &Row<'_>) -> Result<Order> {
    Ok(Order {
        id: row.get(0)?,
        product: row.get(1)?,
        quantity: row.get(2)?,
        status: row.get(3)?,
        total_cents: row.get(4)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_is_sold_once() {
        let store = Store::open(None).unwrap();
        let last = (1..)
            .map_while(|id| store.product(id).unwrap())
            .find(|product| product.stock == 1)
            .unwrap();
        let sold = store.place(1, last.id, 1).unwrap();
        assert!(matches!(sold, Placed::Order(order) if order.total_cents == last.price_cents));
        assert!(matches!(
            store.place(2, last.id, 1).unwrap(),
            Placed::OutOfStock
        ));
        assert_eq!(store.product(last.id).unwrap().unwrap().stock, 0);
        assert!(store.orders(2, 1).unwrap().is_empty());
    }

    #[test]
    fn every_login_is_a_session_of_its_own() {
        let store = Store::open(None).unwrap();
        let (one, user) = store.login("ada", "lovelace").unwrap().unwrap();
        let (other, _) = store.login("ada", "lovelace").unwrap().unwrap();
        assert_ne!(one, other);
        assert_eq!(store.user_of(&one).unwrap(), Some(user.id));
        assert_eq!(store.user_of(&other).unwrap(), Some(user.id));
        assert!(store.login("ada", "byron").unwrap().is_none());
    }

    #[test]
    fn a_file_keeps_its_orders() {
        let path = std::env::temp_dir().join(format!("shop-{}.db", std::process::id()));
        let first = Store::open(Some(&path)).unwrap();
        assert!(matches!(first.place(1, 1, 2).unwrap(), Placed::Order(_)));
        drop(first);
        let again = Store::open(Some(&path)).unwrap();
        assert_eq!(again.orders(1, 1).unwrap().len(), 1);
        drop(again);
        std::fs::remove_file(&path).unwrap();
    }
}
