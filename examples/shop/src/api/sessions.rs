//! Logging in, and who is logged in.

use super::{Error, Shop};
use crate::store::User;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequestParts, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize)]
pub(super) struct Credentials {
    user: String,
    password: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Session {
    token: String,
    user: User,
}

pub(super) async fn login(
    State(shop): State<Shop>,
    credentials: Result<Json<Credentials>, JsonRejection>,
) -> Result<Json<Session>, Error> {
    let Json(Credentials { user, password }) = credentials?;
    match shop.store.login(&user, &password) {
        Some((token, user)) => Ok(Json(Session { token, user })),
        None => Err(Error::unauthorized("wrong user or password")),
    }
}

/// Whoever sent the request: the owner of its bearer token. A handler that takes one answers 401 to
/// everybody else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Customer {
    pub(super) id: i64,
}

impl FromRequestParts<Shop> for Customer {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, shop: &Shop) -> Result<Self, Error> {
        let token = parts
            .headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .ok_or_else(|| Error::unauthorized("log in first, then send `Bearer` and the token"))?;
        match shop.store.user_of(token) {
            Some(id) => Ok(Self { id }),
            None => Err(Error::unauthorized("nobody is logged in with this token")),
        }
    }
}
