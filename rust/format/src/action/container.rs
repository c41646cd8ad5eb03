//! The Avro object container that holds one plan or one piece of metadata: one schema, one block, one record.
//!
//! ```text
//! "Obj" 01 | map { "avro.schema": text } | sync (16) | varint 1 | varint length | datum | sync (16)
//! ```
//!
//! The header carries the schema text literally as Apache Hudi writes it (with the stray attributes of its Java classes),
//! which an Avro library would tidy away; so the frame is written here and the library does the datum.

use apache_avro::Schema;
use apache_avro::reader::Reader;
use apache_avro::writer::datum::GenericDatumWriter;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::{put_avro_bytes, put_avro_long};
use crate::{Error, Result};

const MAGIC: &[u8; 4] = b"Obj\x01";
const SYNC_BYTES: usize = 16;

/// Decodes the first record with the schema the file itself carries. Fields are found by name: those that `T` does not
/// know are passed over (newer releases add some), those that the file lacks take `T`'s defaults.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T> {
    if !bytes.starts_with(MAGIC) {
        return Err(Error::corrupt(format!("{what} is not an Avro container file")).at_offset(0));
    }
    let broken = |e: apache_avro::Error| Error::corrupt(format!("{what} cannot be decoded")).caused_by(e);
    // By way of values: the library's direct deserializer cannot pass over a field.
    let record = Reader::new(bytes).map_err(broken)?.next();
    let record = record.ok_or_else(|| Error::corrupt(format!("{what} holds no record")))?;
    apache_avro::from_value(&record.map_err(broken)?).map_err(broken)
}

/// Encodes one record; `schema_text` is what the header shows, `schema` its parsed form.
pub(super) fn encode<T: Serialize>(value: &T, schema_text: &str, schema: &Schema) -> Result<Vec<u8>> {
    let failed = |e: apache_avro::Error| Error::internal("a timeline payload cannot be encoded").caused_by(e);
    let datum = GenericDatumWriter::builder(schema).build().map_err(failed)?.write_ser_to_vec(value).map_err(failed)?;
    let sync = sync_marker(&datum);
    let mut out = Vec::with_capacity(schema_text.len() + datum.len() + 64);
    out.extend_from_slice(MAGIC);
    put_avro_long(&mut out, 1);
    put_avro_bytes(&mut out, b"avro.schema");
    put_avro_bytes(&mut out, schema_text.as_bytes());
    put_avro_long(&mut out, 0);
    out.extend_from_slice(&sync);
    put_avro_long(&mut out, 1);
    put_avro_bytes(&mut out, &datum);
    out.extend_from_slice(&sync);
    Ok(out)
}

/// The marker only has to be unlikely inside the data. Taken from the data, it makes equal values equal files.
fn sync_marker(datum: &[u8]) -> [u8; SYNC_BYTES] {
    let mut marker = [0_u8; SYNC_BYTES];
    for (lane, part) in marker.chunks_exact_mut(4).zip(0_u8..) {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&[part]);
        crc.update(datum);
        lane.copy_from_slice(&crc.finalize().to_be_bytes());
    }
    marker
}
