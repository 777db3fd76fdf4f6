//! The transport against a server that answers, and misbehaves, as told.

mod user;

mod answers;
mod connections;
mod deadlines;
mod faults;
mod guard;
mod network;
