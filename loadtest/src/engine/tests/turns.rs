//! Users who are to let others have the thread between their journeys.

use super::*;
use tokio::sync::Barrier;

/// Writes a request, and reads its answer once the other user has written too: both answers are there together.
struct Together {
    owes_a_turn: bool,
    both: Arc<Barrier>,
    seen: Arc<Mutex<String>>,
}

impl Transport for Together {
    fn owes_a_turn(&self) -> bool {
        self.owes_a_turn
    }

    async fn send(&self, _: Call<'_>) -> Exchange {
        let begun = Instant::now();
        self.seen.lock().unwrap().push('w');
        tokio::time::sleep(ms(1)).await;
        self.both.wait().await;
        self.seen.lock().unwrap().push('r');
        Exchange {
            result: Ok(Received {
                status: StatusCode::OK,
                version: http::Version::HTTP_2,
                headers: KeptHeaders::default(),
                body: Bytes::new(),
            }),
            begun,
            service_time: begun.elapsed(),
            phases: Phases::default(),
            traffic: Traffic {
                requests: 1,
                ..Traffic::default()
            },
            redirected_to: None,
            events: None,
            socket: None,
            hops: None,
            requests: None,
        }
    }
}

/// What two users wrote (`w`) and read (`r`), in that order.
fn order_of_two_users(load: Load, owes_a_turn: bool) -> String {
    let (scenario, plan) = planned(load, vec![step("a")]);
    let seen = Arc::new(Mutex::new(String::new()));
    let both = Arc::new(Barrier::new(2));
    let kept = Arc::clone(&seen);
    block_on_paused_clock(async {
        let spec = worker_spec(scenario, &plan, move || Together {
            owes_a_turn,
            both: Arc::clone(&both),
            seen: Arc::clone(&seen),
        });
        let control = Control::new();
        let signals = StopSignals::new(&control, &control);
        let start = Instant::now() + ms(20);
        run_worker(spec, start, Pacer::with_runtime_timer(), signals, |_| {}).await
    });
    let seen = kept.lock().unwrap();
    seen[..16].to_owned()
}

#[test]
fn who_owes_a_turn_writes_after_the_others_have_read() {
    for load in [
        || users(2, ms(0), ms(50)),
        || Load::iterations_per_user(10, 2),
    ] {
        assert_eq!(order_of_two_users(load(), true), "wwrrwwrrwwrrwwrr");
        assert_eq!(order_of_two_users(load(), false)[..4], *"wwrw");
    }
}
