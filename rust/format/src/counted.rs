//! Texts that count: one beginning, and behind it a number that grows by one from text to text, as sequence numbers do.
//! Whoever takes them as what they are neither holds them all nor looks at each of them.

use arrow_array::StringArray;
use arrow_buffer::OffsetBuffer;

use crate::short;
use crate::{Error, Result};

/// So many texts, the first of which ends with `first`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    beginning: String,
    first: u64,
    count: usize,
}

impl Counted {
    pub fn new(beginning: String, first: u64, count: usize) -> Self {
        Self { beginning, first, count }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Some of them.
    pub fn part(&self, at: usize, count: usize) -> Self {
        let (at, beginning) = (at.min(self.count), self.beginning.clone());
        Self { beginning, first: self.first + at as u64, count: count.min(self.count - at) }
    }

    /// Bytes of all of them, each of which takes `more` besides.
    pub(crate) fn bytes(&self, more: usize) -> usize {
        self.runs().map(|run| run.count * (run.width + more)).sum()
    }

    /// How many of them fit into so many bytes, with `more` for each.
    pub(crate) fn fitting(&self, more: usize, mut bytes: usize) -> usize {
        let mut fitting = 0;
        for Run { width, count, .. } in self.runs() {
            let here = (bytes / (width + more).max(1)).min(count);
            fitting += here;
            bytes -= here * (width + more);
            if here < count {
                break;
            }
        }
        fitting
    }

    /// The least and the greatest by their bytes; `None` if there are none.
    pub(crate) fn extremes(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let text = |number: u64| format!("{}{number}", self.beginning).into_bytes();
        // Of numbers with as many digits the order is theirs.
        let least = self.runs().map(|run| text(run.first)).min();
        least.zip(self.runs().map(|run| text(run.first + run.count as u64 - 1)).max())
    }

    /// Hands them over one by one.
    #[inline(always)]
    pub(crate) fn each(&self, mut take: impl FnMut(&[u8])) {
        let mut text = Counting::new(&self.beginning, self.first);
        for _ in 0..self.count {
            take(text.text());
            text.count_on();
        }
    }

    pub fn to_array(&self) -> Result<StringArray> {
        let mut texts = Vec::with_capacity(self.bytes(0));
        self.each(|text| short::append(text, &mut texts));
        let too_many = |_| Error::unsupported("so many texts in one array");
        i32::try_from(texts.len()).map_err(too_many)?;
        let widths = self.runs().flat_map(|run| std::iter::repeat_n(run.width, run.count));
        Ok(StringArray::try_new(OffsetBuffer::from_lengths(widths), texts.into(), None)?)
    }

    /// Texts of one width follow each other.
    fn runs(&self) -> impl Iterator<Item = Run> {
        let (mut next, mut left) = (self.first, self.count);
        std::iter::from_fn(move || {
            let digits = next.checked_ilog10().unwrap_or_default() + 1;
            // Behind the greatest number there is no other.
            let end = 10_u64.checked_pow(digits).unwrap_or(u64::MAX);
            let count = usize::try_from(end - next).unwrap_or(usize::MAX).min(left);
            let run = Run { first: next, width: self.beginning.len() + digits as usize, count };
            (next, left) = (next + count as u64, left - count);
            (count > 0).then_some(run)
        })
    }
}

struct Run {
    first: u64,
    width: usize,
    count: usize,
}

/// A text that counts on in its own digits: to write each number anew would take longer.
#[derive(Debug, Clone)]
pub struct Counting {
    text: Vec<u8>,
    beginning: usize,
}

impl Counting {
    pub fn new(beginning: &str, first: u64) -> Self {
        Self { text: format!("{beginning}{first}").into_bytes(), beginning: beginning.len() }
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }

    #[inline(always)]
    pub fn count_on(&mut self) {
        for digit in self.text.iter_mut().skip(self.beginning).rev() {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
        self.text.insert(self.beginning, b'1');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first() -> impl Strategy<Value = u64> {
        prop_oneof![0_u64..1200, (1_u32..19, 0_u64..20).prop_map(|(digits, less)| 10_u64.pow(digits) - less.min(9))]
    }

    proptest! {
        #[test]
        fn they_are_what_formatting_gives(first in first(), count in 0_usize..1200, at in 0_usize..1300, more in 0_usize..6, room in 0_usize..9000) {
            let texts: Vec<String> = (first..).take(count).map(|number| format!("i_7_{number}")).collect();
            let counted = Counted::new("i_7_".to_owned(), first, count);
            let array = counted.to_array().unwrap();
            prop_assert_eq!(array.iter().flatten().collect::<Vec<_>>(), texts.iter().collect::<Vec<_>>());
            let extremes = texts.iter().min().cloned().zip(texts.iter().max().cloned());
            prop_assert_eq!(counted.extremes(), extremes.map(|(least, greatest)| (least.into_bytes(), greatest.into_bytes())));
            let bytes = |texts: &[String]| texts.iter().map(|text| text.len() + more).sum::<usize>();
            prop_assert_eq!(counted.bytes(more), bytes(&texts));
            let fitting = (0..=count).rev().find(|fitting| bytes(&texts[..*fitting]) <= room);
            prop_assert_eq!(Some(counted.fitting(more, room)), fitting);
            let at = at.min(count);
            let part = counted.part(at, 10);
            prop_assert_eq!(part.to_array().unwrap(), StringArray::from_iter_values(texts[at..].iter().take(10)));
        }
    }
}
