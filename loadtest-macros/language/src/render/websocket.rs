//! How a step opens a WebSocket.

use super::definition::{render_duration, render_list, render_literal, render_option};
use crate::options::WebSocketOptions;
use crate::resolve::ResolvedStep;
use proc_macro2::TokenStream;
use quote::quote;

/// The `Option<WebSocketDef>` of a step.
pub(super) fn render_websocket_def(step: &ResolvedStep) -> TokenStream {
    let WebSocketOptions {
        protocol,
        compress,
        heartbeat,
        replies,
    } = &step.options.websocket;
    let protocol = render_option(protocol.as_ref().map(render_literal));
    let heartbeat = render_option(heartbeat.as_ref().map(|heartbeat| {
        let message = render_literal(&heartbeat.message);
        let every = render_duration(heartbeat.every);
        let answer = render_option(heartbeat.answer.as_ref().map(render_literal));
        quote! {
            ::loadtest::__private::Heartbeat { message: #message, every: #every, answer: #answer }
        }
    }));
    let replies = render_list(replies.iter().map(|(to, with)| {
        let (to, with) = (render_literal(to), render_literal(with));
        quote!(::loadtest::__private::AutomaticReply { to: #to, with: #with })
    }));
    render_option(step.opens_websocket().then(|| {
        quote! {
            ::loadtest::__private::WebSocketDef {
                protocol: #protocol,
                compress: #compress,
                heartbeat: #heartbeat,
                replies: #replies,
            }
        }
    }))
}
