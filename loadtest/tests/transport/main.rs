//! The transport against a server that answers, and misbehaves, as told.

mod user;

mod answers;
