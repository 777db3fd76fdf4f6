//! Counts messages by their heads of five bytes: a flag, and the length of what follows. No I/O here.

/// The length of the head of a message.
const HEAD: usize = 5;

/// Counts the messages in a stream of bytes.
#[derive(Debug, Default)]
pub(crate) struct MessageCounter {
    head: [u8; HEAD],
    /// How much of the head is there.
    head_len: usize,
    /// How much of the message is still to come.
    left: u64,
    /// The length of the message that is under way.
    length: u32,
    /// The messages that were complete.
    count: u64,
}

impl MessageCounter {
    /// Takes what came, and hands over the length of each message that is complete with it.
    pub(crate) fn push(&mut self, mut data: &[u8], mut each: impl FnMut(u32)) {
        while !data.is_empty() {
            if self.head_len < HEAD {
                let taken = data.len().min(HEAD - self.head_len);
                self.head[self.head_len..self.head_len + taken].copy_from_slice(&data[..taken]);
                self.head_len += taken;
                data = &data[taken..];
                if self.head_len < HEAD {
                    return;
                }
                let [_, length @ ..] = self.head;
                self.length = u32::from_be_bytes(length);
                self.left = u64::from(self.length);
            }
            let taken = self.left.min(data.len() as u64);
            self.left -= taken;
            data = &data[taken as usize..];
            if self.left == 0 {
                self.head_len = 0;
                self.count += 1;
                each(self.length);
            }
        }
    }

    /// Returns the number of messages that were complete.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether a message has begun and is not over.
    pub(crate) fn is_within(&self) -> bool {
        self.head_len > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(lengths: &[u16]) -> Vec<u8> {
        let message = |length: &u16| {
            let head = u32::from(*length).to_be_bytes();
            let body = vec![7; usize::from(*length)];
            [vec![0], head.to_vec(), body].concat()
        };
        lengths.iter().flat_map(message).collect()
    }

    #[test]
    fn a_message_counts_once_its_last_byte_is_there() {
        let mut counter = MessageCounter::default();
        let mut lengths = Vec::new();
        let all = bytes(&[3, 0]);
        counter.push(&all[..7], |length| lengths.push(length));
        assert!(lengths.is_empty() && counter.is_within());
        counter.push(&all[7..], |length| lengths.push(length));
        assert_eq!((lengths, counter.count()), (vec![3, 0], 2));
        assert!(!counter.is_within());
    }

    #[test]
    fn a_message_may_announce_more_than_ever_comes() {
        let mut counter = MessageCounter::default();
        counter.push(&[0, 0xff, 0xff, 0xff, 0xff, 1, 2], |_| panic!("complete"));
        assert!(counter.is_within());
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_gives_the_same_messages(
            lengths in prop::collection::vec(0..40_u16, 0..8),
            cuts in prop::collection::vec(0..400_usize, 0..20),
        ) {
            let all = bytes(&lengths);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(all.len())).collect();
            cuts.extend([0, all.len()]);
            cuts.sort_unstable();
            let mut counter = MessageCounter::default();
            let mut seen = Vec::new();
            for pair in cuts.windows(2) {
                counter.push(&all[pair[0]..pair[1]], |length| seen.push(length));
            }
            let expected: Vec<u32> = lengths.into_iter().map(u32::from).collect();
            prop_assert_eq!(seen, expected);
            prop_assert!(!counter.is_within());
        }
    }
}
