//! The status codes of gRPC calls.

/// The names of the codes, in the order of their numbers.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// The lowest status of HTTP: lower numbers are gRPC codes.
const LOWEST_HTTP_STATUS: u16 = 100;

/// Returns the name of a gRPC code: `NOT_FOUND` for 5. A status of HTTP and a code that gRPC does not define have none.
pub fn grpc_code_name(code: u16) -> Option<&'static str> {
    NAMES.get(usize::from(code)).copied()
}

/// Returns whether the number of a status is a gRPC code, and not a status of HTTP.
pub const fn is_grpc_code(status: u16) -> bool {
    status < LOWEST_HTTP_STATUS
}

/// Returns a status as reports show it: `404`, and `NOT_FOUND` for the gRPC code 5.
pub fn status_label(status: u16) -> String {
    grpc_code_name(status).map_or_else(|| status.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_shown_by_name_and_statuses_of_http_by_number() {
        let labels = [0, 5, 16, 17, 200, 404].map(status_label);
        assert_eq!(
            labels,
            ["OK", "NOT_FOUND", "UNAUTHENTICATED", "17", "200", "404"]
        );
        assert!(is_grpc_code(17) && !is_grpc_code(100));
    }
}
