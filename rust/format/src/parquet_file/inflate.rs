//! Pages compressed by gzip, as Apache Hudi writes them unless it is told otherwise.
//!
//! Pages are at hand as a whole, and so is the room that they take; the decoder of the `parquet` crate makes use of
//! neither.

use std::io::Read;

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use parquet::column::page::Page;

use super::Limits;
use crate::gzip::{Gunzip, MOST_INFLATED, stated_size};
use crate::{Error, Result};

pub(super) struct Inflater {
    gunzip: Gunzip,
    limits: Limits,
}

impl Inflater {
    pub(super) fn new(limits: Limits) -> Self {
        Self { gunzip: Gunzip::new(), limits }
    }

    /// The page as it was before it was compressed.
    pub(super) fn inflate(&mut self, page: &mut Page) -> Result<()> {
        let (buffer, levels) = match page {
            Page::DataPageV2 { is_compressed: false, .. } => return Ok(()),
            Page::DataPageV2 { buf, rep_levels_byte_len, def_levels_byte_len, .. } => {
                (buf, (*rep_levels_byte_len as usize).saturating_add(*def_levels_byte_len as usize))
            }
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => (buf, 0),
        };
        let Some((levels, packed)) = buffer.split_at_checked(levels) else {
            return Err(Error::corrupt("a Parquet page that is shorter than its levels"));
        };
        // Of a page without values, nothing may be there.
        if !packed.is_empty() {
            *buffer = self.inflated(levels, packed)?;
        }
        Ok(())
    }

    /// The bytes, behind those in front that are not compressed.
    fn inflated(&mut self, front: &[u8], packed: &[u8]) -> Result<Bytes> {
        let size = stated_size(packed);
        if size > self.limits.page_bytes {
            let message = format!("a Parquet page of {size} bytes, uncompressed");
            return Err(Error::unsupported(message).with_hint(format!("{} are the most", self.limits.page_bytes)));
        }
        if size <= packed.len().saturating_mul(MOST_INFLATED) {
            let mut page = vec![0; front.len() + size];
            let (levels, values) = page.split_at_mut(front.len());
            levels.copy_from_slice(front);
            if self.gunzip.fill(packed, values) {
                return Ok(page.into());
            }
        }
        self.inflated_piecewise(front, packed)
    }

    /// What has several members, or is damaged.
    fn inflated_piecewise(&self, front: &[u8], packed: &[u8]) -> Result<Bytes> {
        let most = self.limits.page_bytes as u64 + 1;
        let mut page = front.to_vec();
        let read = MultiGzDecoder::new(packed).take(most).read_to_end(&mut page);
        let read = read.map_err(|e| Error::corrupt("a Parquet page that is no whole gzip").caused_by(e))?;
        if read as u64 == most {
            return Err(Error::unsupported(format!("a Parquet page of more than {} bytes", self.limits.page_bytes)));
        }
        Ok(page.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use parquet::basic::Encoding;
    use rstest::rstest;

    use super::*;

    const LIMITS: Limits = Limits { page_bytes: 1000, page_values: 1000 };

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn dictionary(bytes: Vec<u8>) -> Page {
        Page::DictionaryPage { buf: bytes.into(), num_values: 1, encoding: Encoding::PLAIN, is_sorted: false }
    }

    fn version_2(bytes: Vec<u8>, levels: u32, is_compressed: bool) -> Page {
        Page::DataPageV2 {
            buf: bytes.into(),
            num_values: 1,
            encoding: Encoding::PLAIN,
            num_nulls: 0,
            num_rows: 1,
            def_levels_byte_len: levels,
            rep_levels_byte_len: 0,
            is_compressed,
            statistics: None,
        }
    }

    fn inflated(mut page: Page) -> Result<Vec<u8>> {
        Inflater::new(LIMITS).inflate(&mut page)?;
        Ok(page.buffer().to_vec())
    }

    #[rstest]
    #[case::one_member(dictionary(gzip(b"abc")), b"abc")]
    #[case::nothing(dictionary(gzip(b"")), b"")]
    #[case::two_members(dictionary([gzip(b"abc"), gzip(b"de")].concat()), b"abcde")]
    #[case::two_members_of_one_size(dictionary([gzip(b"abc"), gzip(b"def")].concat()), b"abcdef")]
    #[case::as_much_as_may_be(dictionary(gzip(&[7; 1000])), &[7; 1000])]
    #[case::levels_in_front(version_2([b"ll".to_vec(), gzip(b"abc")].concat(), 2, true), b"llabc")]
    #[case::levels_alone(version_2(b"ll".to_vec(), 2, true), b"ll")]
    #[case::not_compressed(version_2(b"llabc".to_vec(), 2, false), b"llabc")]
    fn pages(#[case] page: Page, #[case] bytes: &[u8]) {
        assert_eq!(inflated(page).unwrap(), bytes);
    }

    #[rstest]
    #[case::no_gzip(dictionary(b"abcdefgh".to_vec()))]
    #[case::cut(dictionary(gzip(b"abc").split_last().unwrap().1.to_vec()))]
    #[case::too_large(dictionary(gzip(&[7; 1001])))]
    #[case::too_large_together(dictionary([gzip(&[7; 600]), gzip(&[7; 600])].concat()))]
    #[case::levels_longer_than_the_page(version_2(b"ll".to_vec(), 3, true))]
    fn refused(#[case] page: Page) {
        inflated(page).unwrap_err();
    }

    #[test]
    fn a_wrong_checksum_is_an_error() {
        let mut packed = gzip(b"abc");
        let at = packed.len() - 8;
        packed[at] ^= 1;
        inflated(dictionary(packed)).unwrap_err();
    }
}
