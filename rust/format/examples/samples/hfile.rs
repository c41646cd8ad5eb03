//! HFiles of any bytes: keys and values without a schema.

use hudini_format::hfile::{Codec, Options, Writer};
use serde_json::{Value, json};

use crate::folder::{Done, Folder};

const KIND: &str = "hfile";

pub(crate) fn write(folder: &mut Folder) -> Done {
    let few = || cells(&["", "key", "key-1", "größe", "鍵", "🔑", "\u{1}"], |n| n);
    let many: Vec<String> = (0..500).map(|n| format!("{}{n:04}", ["a", "key-", "ß", "鍵", "🔑"][n % 5])).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let long = ["k".repeat(i16::MAX as usize - 1), "k".repeat(i16::MAX as usize)];
    let long = [long[0].as_str(), long[1].as_str()];
    let large = || cells(&["a", "b", "c", "d"], |n| [10, 200_000, 0, 70_000][n]);
    for (codec, name) in [(Codec::None, "plain"), (Codec::Gzip, "gzip")] {
        let default = Options { codec, ..Options::default() };
        let tiny = Options { codec, block_bytes: 64 };
        file(folder, &format!("empty_{name}"), default, &[], &[])?;
        file(folder, &format!("one_cell_{name}"), default, &cells(&["k"], |_| 3), &[])?;
        file(folder, &format!("one_block_{name}"), default, &few(), &[("bloomFilter", vec![7; 300]), ("a", vec![])])?;
        file(folder, &format!("many_blocks_{name}"), default, &cells(&many, |n| 7 * n % 1999), &[])?;
        file(folder, &format!("tiny_blocks_{name}"), tiny, &cells(&many, |n| n % 40), &[])?;
        file(folder, &format!("large_values_{name}"), default, &large(), &[])?;
        file(folder, &format!("long_keys_{name}"), default, &cells(&long, |_| 5), &[])?;
    }
    Ok(())
}

/// Cells in the order of their keys as bytes, with values of the lengths wanted.
fn cells(keys: &[&str], length: impl Fn(usize) -> usize) -> Vec<(String, Vec<u8>)> {
    let value = |n: usize| (0..length(n)).map(|at| (at * 31 + n) as u8).collect();
    let mut cells: Vec<_> = keys.iter().enumerate().map(|(n, key)| ((*key).to_owned(), value(n))).collect();
    cells.sort();
    cells
}

fn file(
    folder: &mut Folder,
    sample: &str,
    options: Options,
    cells: &[(String, Vec<u8>)],
    meta: &[(&str, Vec<u8>)],
) -> Done {
    let mut writer = Writer::new(options)?;
    for (key, value) in cells {
        writer.put(key.as_bytes(), value)?;
    }
    for (name, content) in meta {
        writer.meta_block(name, content.clone());
    }
    writer.info("größe", "7 µ");
    folder.put(KIND, sample, "file.hfile", writer.finish()?)?;
    let checksum = |bytes: &[u8]| json!([bytes.len(), crc32fast::hash(bytes)]);
    let cells: Vec<Value> = cells.iter().map(|(key, value)| json!([key, checksum(value)])).collect();
    let looked_up: Vec<&Value> = cells.iter().step_by(7).collect();
    let meta: serde_json::Map<_, _> = meta.iter().map(|(name, c)| ((*name).to_owned(), checksum(c))).collect();
    folder.tell(
        KIND,
        sample,
        json!({
            "cells": cells, "count": cells.len(), "looked_up": looked_up, "meta": meta, "info": {"größe": "7 µ"},
        }),
    );
    Ok(())
}
