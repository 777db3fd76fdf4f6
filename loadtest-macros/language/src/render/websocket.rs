//! How a step opens a WebSocket.

use super::definition::{render_option, render_text};
use crate::options::WebSocketOptions;
use crate::resolve::ResolvedStep;
use proc_macro2::TokenStream;
use quote::quote;

/// The `Option<WebSocketDef>` of a step.
pub(super) fn render_websocket_def(step: &ResolvedStep) -> TokenStream {
    let WebSocketOptions { protocol, compress } = &step.options.websocket;
    let protocol = protocol.as_ref().map(|name| render_text(&name.value()));
    let protocol = render_option(protocol);
    render_option(step.opens_websocket().then(|| {
        quote! {
            ::loadtest::__private::WebSocketDef {
                protocol: #protocol,
                compress: #compress,
            }
        }
    }))
}
