//! A scripted HTTP server for tests.
