use loadtest::prelude::*;

fn main() {}

#[scenario(thresholds(
    error < 1%,
    servce.p95 < 1s,
    counts(sold_out) < 10,
    median < 1s,
    p95 < 1MB/s,
    skips > 1%,
    dropped < 1,
    throughput > 5,
    throughput > 5MB,
    throughput > 5mb/s,
    retries < 1s,
    count(sold_out) < 1%,
    count(sold_out) < 1.5,
    count(sold_out) < ten,
    count() < 10,
    count(sold out) < 10,
    count(a.b) < 10,
    count < 10,
    rate("") < 1/s,
    rate(sold_out) < 1,
    time(queued) < 1s,
    time(queued).p59 < 1s,
    time(queued).p99.9 < 1s,
    time(queued).p95 > 1s,
    time < 1s,
    gauge(queue) < 10,
    gauge(queue).p95 < 10,
    gauge(queue).max < 10ms,
    gauge(queue).max > 10 or abort,
    gauge(queue).min > -5 or abort,
    gauge < 10,
    failed < 1s,
    failed.median < 1s,
    errors.p95 < 1s,
    connect.p95 < 1s,
    first_byte.p95 < 1s,
))]
fn metrics() {
    #[step(get = "/")]
    fn first();
}

#[scenario(thresholds(
    errors < 1% or stop,
    errors < 1% or,
    errors < 1% abort,
    errors < 1% or abort 30s,
    errors < 1% or abort after,
    errors < 1% or abort after 30,
    errors < 1% or abort after 0s,
    errors < 1% or abort after 30s p95 < 1s,
    rps > 5/s or abort,
    rate(orders) > 5/s or abort,
    count(orders) > 100 or abort after 10s,
))]
fn aborts() {
    #[step(
        get = "/",
        dropped < 1%,
        lateness.p95 < 1ms,
        count(sold_out) < 10,
        rate(sold_out) < 1/s,
        time(queued).p95 < 1s,
        gauge(queue).max < 10,
        ttfb.p95 < 1s,
        boddy.p95 < 1s,
        body < 1s,
        service.p95 = 1s,
        erors < 1% or abort,
    )]
    fn first();
}

#[scenario(first_byte.p95 < 1s, count(sold_out) < 1, throughput > 1MB/s)]
fn outside() {
    #[step(get = "/", last, throughput > 1MB/s)]
    fn first();
}
