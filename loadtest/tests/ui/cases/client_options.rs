use loadtest::prelude::*;

fn main() {}

#[scenario(http = 4, cookies = usr, insecure = yes, ca = 1, identity = "", redirects = 51)]
fn mistakes() {
    #[step(get = "/", redirects = -1)]
    fn step();
}

#[scenario(http = "2", cookies = "user", insecure, ca = true, redirects = 1.5)]
fn more_mistakes() {
    #[step(get = "/", redirects = many)]
    fn step();
}

#[scenario(http = 1.0, cookies = "forever", redirect = 5, redirects = 1, redirects = 2)]
fn still_more() {
    #[step(get = "/", redirect = 5)]
    fn step();
}

#[scenario(cookie = user, cookies, http)]
fn half_typed() {
    #[step(get = "/", redirects)]
    fn step();
}

#[scenario(http = 2, cookies = off, insecure = true, ca = "a.pem", identity = "b.pem", redirects = 0)]
fn fine() {
    #[step(get = "/", redirects = 50)]
    fn step();
}

#[scenario(dns = 30s)]
fn a_time() {
    #[step(get = "/")]
    fn step();
}

#[scenario(dns = "ttl", base = "http://localhost")]
fn quoted() {
    #[step(get = "/")]
    fn step();
}

#[scenario(dns = pinned, dns)]
fn another_word() {
    #[step(get = "/")]
    fn step();
}

#[scenario(dns = ttl)]
fn looked_up_again() {
    #[step(get = "/")]
    fn step();
}

#[scenario(cookies = off)]
fn a_jar_without_cookies() {
    #[step(get = "/", jar = admin)]
    fn named();
    #[step(get = "/", jar = "admin")]
    fn quoted();
}

#[scenario(connections = 8)]
fn connections_of_no_version() {
    #[step(get = "/")]
    fn step();
}

#[scenario(http = 1, connections = 8)]
fn connections_of_another_version() {
    #[step(get = "/")]
    fn step();
}

#[scenario(http = 1, connections = 0)]
fn no_connections() {
    #[step(get = "/")]
    fn step();
}

#[scenario(http = 2, connections = 2.5)]
fn half_a_connection() {
    #[step(get = "/")]
    fn step();
}

#[scenario(connections = 8, http = 2)]
fn shared_connections() {
    #[step(get = "/")]
    fn step();
}

#[scenario(http = 2.0)]
fn a_version_with_a_point() {
    #[step(get = "/")]
    fn step();
}

#[scenario(http = 3, connections = 8)]
fn connections_over_quic() {
    #[step(get = "/")]
    fn step();
}
