//! Raw samples: one for each execution of a step, each request of an async step, and each journey.
//!
//! A load writes them as bytes of a fixed size, which costs it least; the tool turns them into lines. A file is a
//! [`SamplesHeader`] in JSON on a line of its own, and then [`SampleEntry`]s.

use crate::metrics::ErrorKind;
use crate::random::{mix_bits, unit_interval};
use crate::redacted::Redacted;
use crate::schedule::Window;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::path::PathBuf;

/// The bytes of a sample.
pub const SAMPLE_BYTES: usize = 48;
/// The longest name of a request in characters, whose bytes fit a `u16`.
const MAX_NAME: usize = 1 << 12;

/// The kind of an entry, in the lowest two bits of its first byte.
const SAMPLE: u8 = 1;
const NAME: u8 = 2;
const LOST: u8 = 3;
/// Stand for what there is none of, in as many bytes.
const NONE_OF_4_BYTES: u32 = u32::MAX;
const NONE_OF_5_BYTES: u64 = (1 << 40) - 1;
const NONE_OF_6_BYTES: u64 = (1 << 48) - 1;
const WINDOWS: [Window; 3] = [Window::WarmUp, Window::Ramp, Window::Steady];
const KINDS: [SampleKind; 3] = [SampleKind::Journey, SampleKind::Step, SampleKind::Request];

/// The samples to write of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SamplesRequest {
    /// The file for them.
    pub path: PathBuf,
    /// The share of journeys that leave samples, above 0 and at most 1.
    pub share: f64,
}

impl SamplesRequest {
    /// Returns true if the journey with this number leaves samples. Runs of the same seed keep the same ones.
    pub fn keeps(&self, seed: u64, iteration: u64) -> bool {
        unit_interval(mix_bits(seed ^ mix_bits(iteration))) < self.share
    }
}

/// The first line of a file of samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplesHeader {
    /// The identifier of the run.
    pub run: String,
    /// The identity of the scenario.
    pub scenario: String,
    /// The start of the load, in microseconds after 1970-01-01 in UTC.
    pub started_us: u64,
    /// The names of the steps.
    pub steps: Vec<String>,
}

/// The subject of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleKind {
    /// A journey that came to its end.
    Journey,
    /// A step that was executed.
    Step,
    /// A request of an async step.
    Request,
}

impl SampleKind {
    /// Returns the name in lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Journey => "journey",
            Self::Step => "step",
            Self::Request => "request",
        }
    }
}

/// One sample. Times are in microseconds; of a duration above twelve days, so much is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Its subject.
    pub kind: SampleKind,
    /// The part of the load that it counts in.
    pub window: Window,
    /// The number of the step; none of a journey.
    pub step: Option<u16>,
    /// The number of the request's name; none of others.
    pub name: Option<u32>,
    /// The number of the virtual user.
    pub user: u32,
    /// The number of the journey; none of a step after the last one.
    pub iteration: Option<u64>,
    /// When it could begin, after the start of the load.
    pub begun_us: u64,
    /// The time from due to start, which is a part of the response time.
    pub start_delay_us: u64,
    /// The service time; none where nothing was sent.
    pub service_us: Option<u64>,
    /// The time to the first byte of all its answers.
    pub first_byte_us: Option<u32>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// Whether it was a success.
    pub is_ok: bool,
    /// The kind of its failure.
    pub error: Option<ErrorKind>,
    /// The bytes that were sent, 4 GiB at most.
    pub sent: u32,
    /// The bytes that were received, 4 GiB at most.
    pub received: u32,
}

/// Samples for which there was no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostSamples {
    /// The time of the first, after the start of the load.
    pub from_us: u64,
    /// The time of the last.
    pub to_us: u64,
    /// Their number.
    pub count: u64,
}

/// An entry in a file of samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SampleEntry {
    /// A sample.
    Sample(Sample),
    /// The name of requests, before the first sample with its number.
    Name {
        /// Its number.
        number: u32,
        /// The name.
        name: String,
    },
    /// Samples that are missing here.
    Lost(LostSamples),
}

/// What became of the samples of a load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplesAccount {
    /// The number that was written.
    pub written: u64,
    /// The number that was lost.
    pub lost: u64,
    /// The reason why none was written any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Redacted>,
}

impl SamplesAccount {
    /// Adds that of another part of the load.
    pub(crate) fn merge(&mut self, other: Self) {
        self.written += other.written;
        self.lost += other.lost;
        self.ended = self.ended.take().or(other.ended);
    }
}

impl Sample {
    /// Returns it as bytes.
    #[inline]
    pub fn to_bytes(&self) -> [u8; SAMPLE_BYTES] {
        let mut bytes = [0; SAMPLE_BYTES];
        let error = self.error.and_then(|error| {
            let place = ErrorKind::ALL.iter().position(|kind| *kind == error)?;
            u8::try_from(place + 1).ok()
        });
        let iteration = self.iteration.unwrap_or(NONE_OF_6_BYTES);
        let delay_us = self.start_delay_us.min(NONE_OF_5_BYTES);
        let service_us = match self.service_us {
            Some(time) => time.min(NONE_OF_5_BYTES - 1),
            None => NONE_OF_5_BYTES,
        };
        let (kind, window) = (self.kind as u8, self.window as u8);
        bytes[0] = SAMPLE | kind << 2 | window << 4 | u8::from(self.is_ok) << 6;
        bytes[1] = error.unwrap_or(0);
        bytes[2..4].copy_from_slice(&self.status.unwrap_or(0).to_le_bytes());
        bytes[4..6].copy_from_slice(&self.step.unwrap_or(u16::MAX).to_le_bytes());
        bytes[6..10].copy_from_slice(&self.name.unwrap_or(NONE_OF_4_BYTES).to_le_bytes());
        bytes[10..14].copy_from_slice(&self.user.to_le_bytes());
        bytes[14..18].copy_from_slice(&self.first_byte_us.unwrap_or(NONE_OF_4_BYTES).to_le_bytes());
        bytes[18..22].copy_from_slice(&self.sent.to_le_bytes());
        bytes[22..26].copy_from_slice(&self.received.to_le_bytes());
        bytes[26..32].copy_from_slice(&iteration.to_le_bytes()[..6]);
        bytes[32..38].copy_from_slice(&self.begun_us.to_le_bytes()[..6]);
        bytes[38..43].copy_from_slice(&delay_us.to_le_bytes()[..5]);
        bytes[43..48].copy_from_slice(&service_us.to_le_bytes()[..5]);
        bytes
    }

    fn from_bytes(bytes: &[u8; SAMPLE_BYTES]) -> Option<Self> {
        let number = |from: usize, to: usize| {
            let lowest_last = bytes[from..to].iter().rev();
            lowest_last.fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let four_bytes = |from| number(from, from + 4) as u32;
        let error = match bytes[1] {
            0 => None,
            number => Some(*ErrorKind::ALL.get(usize::from(number) - 1)?),
        };
        let (status, step) = (number(2, 4) as u16, number(4, 6) as u16);
        let (name, first_byte_us) = (four_bytes(6), four_bytes(14));
        let (iteration, service_us) = (number(26, 32), number(43, 48));
        Some(Self {
            kind: *KINDS.get(usize::from(bytes[0] >> 2 & 3))?,
            window: *WINDOWS.get(usize::from(bytes[0] >> 4 & 3))?,
            step: (step != u16::MAX).then_some(step),
            name: (name != NONE_OF_4_BYTES).then_some(name),
            user: four_bytes(10),
            iteration: (iteration != NONE_OF_6_BYTES).then_some(iteration),
            begun_us: number(32, 38),
            start_delay_us: number(38, 43),
            service_us: (service_us != NONE_OF_5_BYTES).then_some(service_us),
            first_byte_us: (first_byte_us != NONE_OF_4_BYTES).then_some(first_byte_us),
            status: (status != 0).then_some(status),
            is_ok: bytes[0] >> 6 & 1 == 1,
            error,
            sent: four_bytes(18),
            received: four_bytes(22),
        })
    }
}

impl SampleEntry {
    /// Appends it to `bytes`.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Sample(sample) => bytes.extend_from_slice(&sample.to_bytes()),
            Self::Name { number, name } => {
                // A name of the report has a hundred characters at most.
                let name: String = name.chars().take(MAX_NAME).collect();
                bytes.push(NAME);
                bytes.extend(number.to_le_bytes());
                bytes.extend((name.len() as u16).to_le_bytes());
                bytes.extend(name.as_bytes());
            }
            Self::Lost(lost) => {
                bytes.push(LOST);
                for number in [lost.from_us, lost.to_us, lost.count] {
                    bytes.extend(number.to_le_bytes());
                }
            }
        }
    }

    /// Reads the next entry; `None` at the end, also where the last one is not whole, as a process that was killed
    /// leaves it.
    ///
    /// # Errors
    /// Those of `reader`, and `InvalidData` for other bytes.
    pub fn read(reader: &mut impl Read) -> io::Result<Option<Self>> {
        match Self::read_whole(reader) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            read => read.map(Some),
        }
    }

    fn read_whole(reader: &mut impl Read) -> io::Result<Self> {
        let [tag] = read_bytes(reader)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "not a file of samples");
        match tag & 3 {
            SAMPLE => {
                let rest: [u8; SAMPLE_BYTES - 1] = read_bytes(reader)?;
                let mut bytes = [tag; SAMPLE_BYTES];
                bytes[1..].copy_from_slice(&rest);
                let sample = Sample::from_bytes(&bytes).ok_or_else(damaged)?;
                Ok(Self::Sample(sample))
            }
            NAME => {
                let number = u32::from_le_bytes(read_bytes(reader)?);
                let length = usize::from(u16::from_le_bytes(read_bytes(reader)?));
                let mut name = vec![0; length];
                reader.read_exact(&mut name)?;
                let name = String::from_utf8(name).map_err(|_| damaged())?;
                Ok(Self::Name { number, name })
            }
            LOST => Ok(Self::Lost(LostSamples {
                from_us: u64::from_le_bytes(read_bytes(reader)?),
                to_us: u64::from_le_bytes(read_bytes(reader)?),
                count: u64::from_le_bytes(read_bytes(reader)?),
            })),
            _ => Err(damaged()),
        }
    }
}

fn read_bytes<const N: usize>(reader: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn samples() -> impl Strategy<Value = Sample> {
        let text = (
            prop::sample::select(&KINDS[..]),
            prop::sample::select(&WINDOWS[..]),
            prop::option::of(0..u16::MAX),
            prop::option::of(0..u32::MAX),
            prop::option::of(0..NONE_OF_6_BYTES),
            prop::option::of(prop::sample::select(ErrorKind::ALL)),
        );
        let figures = (
            any::<(u32, bool, u32, u32)>(),
            0..=NONE_OF_6_BYTES,
            0..=NONE_OF_5_BYTES,
            prop::option::of(0..NONE_OF_5_BYTES),
            prop::option::of(0..NONE_OF_4_BYTES),
            prop::option::of(100_u16..1_000),
        );
        (text, figures).prop_map(|(text, figures)| {
            let (kind, window, step, name, iteration, error) = text;
            let (plain, begun_us, start_delay_us, service_us, first_byte_us, status) = figures;
            let (user, is_ok, sent, received) = plain;
            Sample {
                kind,
                window,
                step,
                name,
                user,
                iteration,
                begun_us,
                start_delay_us,
                service_us,
                first_byte_us,
                status,
                is_ok,
                error,
                sent,
                received,
            }
        })
    }

    fn entries() -> impl Strategy<Value = SampleEntry> {
        prop_oneof![
            samples().prop_map(SampleEntry::Sample),
            (any::<u32>(), ".{0,90}").prop_map(|(number, name)| SampleEntry::Name { number, name }),
            any::<(u64, u64, u64)>().prop_map(|(from_us, to_us, count)| {
                SampleEntry::Lost(LostSamples {
                    from_us,
                    to_us,
                    count,
                })
            }),
        ]
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            all in prop::collection::vec(entries(), 0..9),
            cut in 0_usize..SAMPLE_BYTES,
        ) {
            let mut bytes = Vec::new();
            let mut ends = vec![0];
            for entry in &all {
                entry.write(&mut bytes);
                ends.push(bytes.len());
            }
            bytes.truncate(bytes.len() - cut.min(bytes.len()));
            let whole = ends.iter().filter(|end| **end <= bytes.len()).count() - 1;
            let mut reader = &*bytes;
            for entry in &all[..whole] {
                let read = SampleEntry::read(&mut reader).unwrap();
                prop_assert_eq!(read.as_ref(), Some(entry));
            }
            prop_assert_eq!(SampleEntry::read(&mut reader).unwrap(), None);
        }

        #[test]
        fn other_bytes_are_refused_or_read_and_never_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut reader = &*bytes;
            while let Ok(Some(_)) = SampleEntry::read(&mut reader) {}
        }
    }

    #[test]
    fn a_share_of_journeys_is_kept_by_their_numbers() {
        let kept = |share, seed| {
            let request = SamplesRequest {
                path: PathBuf::new(),
                share,
            };
            let all = 0..100_000_u64;
            all.filter(|iteration| request.keeps(seed, *iteration))
                .collect::<Vec<_>>()
        };
        assert_eq!(kept(1.0, 7).len(), 100_000);
        let tenth = kept(0.1, 7);
        assert!((9_700..10_300).contains(&tenth.len()), "{}", tenth.len());
        assert_eq!(tenth, kept(0.1, 7));
        assert_ne!(tenth, kept(0.1, 8));
    }
}
