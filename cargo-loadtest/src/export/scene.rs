//! A drawing.
