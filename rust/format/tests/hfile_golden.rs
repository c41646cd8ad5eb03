//! Every HFile of the golden tables: base files of their metadata tables, and HFile blocks of the logs.

use crate::support::golden_hfiles;
use hudini_format::bloom::{BloomFilter, BloomKind};
use hudini_format::hfile::{Codec, Options, Reader, Span, Writer};

#[test]
fn every_file_decodes_and_its_keys_are_found() {
    for file in golden_hfiles().into_iter().map(|hfile| hfile.file) {
        let reader = Reader::open(&file.bytes).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
        let entries =
            reader.entries().collect::<Result<Vec<_>, _>>().unwrap_or_else(|e| panic!("{}: {e}", file.place()));
        assert_eq!(entries.len() as u64, reader.count(), "{}", file.place());
        assert!(entries.is_sorted_by(|a, b| a.key < b.key), "{}", file.place());
        let last = entries.last().map(|entry| entry.key.as_slice()).unwrap_or_default();
        assert_eq!(reader.info().last_key().unwrap_or_default(), last, "{}", file.place());
        let many = reader.get_many(entries.iter().map(|entry| entry.key.as_slice())).unwrap();
        assert!(many.into_iter().eq(entries.iter().map(|e| Some(e.value.clone()))), "{}", file.place());
        for entry in entries.iter().step_by(1 + entries.len() / 20) {
            assert_eq!(reader.get(&entry.key).unwrap().as_ref(), Some(&entry.value), "{}", file.place());
            assert_eq!(reader.get(&[&entry.key, &b"\0"[..]].concat()).unwrap(), None);
        }
        if let Some(bloom) = reader.meta_block("bloomFilter").unwrap() {
            let kind = BloomKind::parse(reader.info().bloom_filter_type().unwrap().unwrap()).unwrap();
            let bloom = BloomFilter::from_text(kind, str::from_utf8(&bloom).unwrap()).unwrap();
            for entry in &entries {
                assert!(bloom.contains(str::from_utf8(&entry.key).unwrap()), "{}", file.place());
            }
        }
    }
}

#[test]
fn what_is_decoded_encodes_and_decodes_again() {
    for file in golden_hfiles().into_iter().map(|hfile| hfile.file) {
        let reader = Reader::open(&file.bytes).unwrap();
        for codec in [Codec::Gzip, Codec::None] {
            let mut writer = Writer::new(Options { codec, ..Options::default() }).unwrap();
            reader.visit(Span::All, |cell| writer.put(cell.key, cell.value)).unwrap();
            for (key, value) in reader.info().iter() {
                writer.info(str::from_utf8(key).unwrap(), value);
            }
            for entry in &reader.layout().meta_blocks {
                let name = str::from_utf8(&entry.key).unwrap();
                writer.meta_block(name, reader.meta_block(name).unwrap().unwrap().into_owned());
            }
            let bytes = writer.finish().unwrap();
            let again = Reader::open(&bytes).unwrap();
            assert!(again.entries().map(Result::unwrap).eq(reader.entries().map(Result::unwrap)), "{}", file.place());
            assert_eq!(again.info().schema().unwrap(), reader.info().schema().unwrap());
            assert_eq!(again.meta_block("bloomFilter").unwrap(), reader.meta_block("bloomFilter").unwrap());
        }
    }
}

/// A file that is cut or has a byte changed is refused, or read as it was; where nothing verifies it, at least it is read
/// to an end.
#[test]
fn damaged_files_are_refused_or_read() {
    for hfile in golden_hfiles().into_iter().step_by(29) {
        let file = &hfile.file;
        let rows = |bytes: &[u8]| Reader::open(bytes)?.entries().collect::<Result<Vec<_>, _>>();
        let whole = rows(&file.bytes).unwrap();
        for cut in (0..file.bytes.len()).step_by(97) {
            assert!(rows(&file.bytes[..cut]).is_err(), "{} cut at {cut}", file.place());
        }
        // Checksums come in the blocks of HBase alone.
        let verified = file.bytes[24] == 2;
        let mut damaged = file.bytes.clone();
        for at in (0..file.bytes.len()).step_by(13) {
            for bits in [0xff, 1 << (at % 8)] {
                damaged[at] ^= bits;
                let found = rows(&damaged);
                assert!(!verified || found.is_err() || found.unwrap() == whole, "{} at {at}", file.place());
                damaged[at] = file.bytes[at];
            }
        }
    }
}
