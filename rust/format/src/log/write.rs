//! The writer: one whole block as bytes. A log file is nothing but blocks one after the other.

use super::block::{
    BlockKind, FIXED_LENGTH, FORMAT_VERSION, HeaderKey, LENGTH_FIELD, MAGIC, MAX_BLOCK_LENGTH, ROLLBACK_COMMAND,
    headers_length,
};
use crate::{Error, Result};

/// A block with its headers in the order given. Fails if it would reach 2 GiB.
///
/// Apache Hudi refuses a file with a header that its release does not know: keys from [`HeaderKey::IsPartial`] on belong
/// in tables of version 8 and later only.
pub fn encode_block(kind: BlockKind, headers: &[(HeaderKey, &str)], content: &[u8]) -> Result<Vec<u8>> {
    let length = FIXED_LENGTH + headers_length(headers) + content.len();
    if length + LENGTH_FIELD + MAGIC.len() > MAX_BLOCK_LENGTH {
        return Err(Error::unsupported(format!("a log block of {length} bytes: Apache Hudi reads less than 2 GiB"))
            .with_hint("split the rows over several blocks"));
    }
    let mut out = Vec::with_capacity(MAGIC.len() + LENGTH_FIELD + length);
    out.extend_from_slice(MAGIC);
    put_i64(&mut out, length);
    out.extend_from_slice(&FORMAT_VERSION.to_be_bytes());
    out.extend_from_slice(&kind.ordinal().to_be_bytes());
    put_i32(&mut out, headers.len());
    for (key, value) in headers {
        out.extend_from_slice(&key.ordinal().to_be_bytes());
        put_i32(&mut out, value.len());
        out.extend_from_slice(value.as_bytes());
    }
    put_i64(&mut out, content.len());
    out.extend_from_slice(content);
    put_i32(&mut out, 0);
    let trailer = out.len();
    put_i64(&mut out, trailer);
    Ok(out)
}

/// The block by which the rollback at `instant` undoes what `target` wrote into the same slice (table version 6).
pub fn rollback_command(instant: &str, target: &str) -> Result<Vec<u8>> {
    let headers = [
        (HeaderKey::InstantTime, instant),
        (HeaderKey::TargetInstantTime, target),
        (HeaderKey::CommandBlockType, ROLLBACK_COMMAND),
    ];
    encode_block(BlockKind::Command, &headers, &[])
}

/// The caller has checked that the whole block is shorter than 2 GiB.
fn put_i32(out: &mut Vec<u8>, value: usize) {
    out.extend_from_slice(&(value as u32).to_be_bytes());
}

fn put_i64(out: &mut Vec<u8>, value: usize) {
    out.extend_from_slice(&(value as u64).to_be_bytes());
}
