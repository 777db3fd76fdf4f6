//! The virtual user, as scenario code sees it.

/// A virtual user: its number, its current iteration, and a source of random numbers that depends on
/// nothing but the seed, the scenario, the iteration and the step.
#[derive(Debug, Clone)]
pub struct Vu {
    id: u64,
    iteration: u64,
    turn: u64,
    seed: u64,
    state: u64,
}

impl Vu {
    /// A virtual user that has not begun an iteration; `seed` is that of run and scenario.
    #[doc(hidden)]
    pub fn new(id: u64, seed: u64) -> Self {
        Self {
            id,
            iteration: 0,
            turn: 0,
            seed,
            state: 0,
        }
    }

    /// The number of the user, counted from zero.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The number of the current iteration, counted from zero: over all users where a load fixes the
    /// iterations (a rate, a number of iterations), over this user's own where it fixes the users.
    pub fn iteration(&self) -> u64 {
        // Loads of users number their iterations `user << 32 | count`.
        self.iteration & u64::from(u32::MAX)
    }

    /// A number drawn evenly from `0.0..1.0`.
    ///
    /// The same seed gives the same numbers in the same step of the same iteration.
    pub fn random(&mut self) -> f64 {
        self.state = self.state.wrapping_add(GOLDEN);
        unit(mix(self.state))
    }

    /// The place of the current iteration among those of all users, from which the rows of feeds
    /// follow: its number, or, where a load fixes the users, `own number x users + user`.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// Moves to `iteration`, which has this `turn`.
    pub(crate) fn begin(&mut self, iteration: u64, turn: u64) {
        self.iteration = iteration;
        self.turn = turn;
    }

    /// Makes [`random`](Self::random) the source of `purpose` in `step` of the current iteration.
    pub(crate) fn reseed(&mut self, step: usize, purpose: Purpose) {
        let place = (step as u64) << 8 | purpose as u64;
        self.state = mix(mix(self.seed ^ mix(self.iteration)) ^ place);
    }
}

/// What a random number is drawn for; each purpose has a sequence of its own, so that a scenario that
/// draws one number more does not move the others.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Weight,
    Think,
    Scenario,
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of `SplitMix64` (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014).
pub(super) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The upper 53 bits as a number in `0.0..1.0`.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
