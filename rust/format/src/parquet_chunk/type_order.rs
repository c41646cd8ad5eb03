//! Floats as all readers of footers know them.
//!
//! The `parquet` crate states bounds of floats in the total order of IEEE 754, and says so in the footer. That is new in the
//! format: readers that have not heard of it, parquet-mr (and so Apache Hudi, Spark, Flink) and pyarrow among them, pass over
//! the bounds, and Apache Hudi then takes 0 and 0 for them when it makes statistics of a table anew. So base files
//! name the older order, that of the type, with what it asks for: no bounds where a value is not a number, zeros that lie
//! outwards.

use std::io::{self, Write};

use parquet::basic::Type as Physical;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnIndexBuilder, LevelHistogram};
use parquet::file::page_index::column_index::{ColumnIndexMetaData, PrimitiveColumnIndex};
use parquet::file::statistics::{Statistics, ValueStatistics};

/// Brings what is told of a chunk into the order of its type.
pub fn in_type_order(told: &mut ColumnCloseResult) -> Result<()> {
    let (statistics, has_odd) = match told.metadata.statistics() {
        Some(Statistics::Float(found)) => (Statistics::Float(outwards(found)), has_odd(found)),
        Some(Statistics::Double(found)) => (Statistics::Double(outwards(found)), has_odd(found)),
        _ => return Ok(()),
    };
    told.metadata = told.metadata.clone().into_builder().set_statistics(statistics).build()?;
    told.column_index = match told.column_index.take() {
        _ if has_odd => None,
        Some(index) => Some(of_pages(&index)?),
        None => None,
    };
    Ok(())
}

/// Both zeros are one value: a range has both if it has one.
trait Float: Copy {
    fn as_least(self) -> Self;
    fn as_greatest(self) -> Self;
    fn bytes(self) -> Vec<u8>;
}

macro_rules! float {
    ($native:ty) => {
        impl Float for $native {
            fn as_least(self) -> Self {
                if self == 0.0 { -0.0 } else { self }
            }

            fn as_greatest(self) -> Self {
                if self == 0.0 { 0.0 } else { self }
            }

            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    };
}

float!(f32);
float!(f64);

/// Whether some values are not a number. These have no place in the order.
fn has_odd<T>(found: &ValueStatistics<T>) -> bool {
    found.nan_count_opt().is_some_and(|count| count > 0)
}

fn outwards<T: Float>(found: &ValueStatistics<T>) -> ValueStatistics<T> {
    let bounds = found.min_opt().zip(found.max_opt()).filter(|_| !has_odd(found));
    let (least, greatest) = bounds.map(|(least, greatest)| (least.as_least(), greatest.as_greatest())).unzip();
    // The fields of before 2017 have the same bounds, as with whole numbers.
    ValueStatistics::new(least, greatest, found.distinct_count(), found.null_count_opt(), false)
        .with_backwards_compatible_min_max(true)
}

fn of_pages(index: &ColumnIndexMetaData) -> Result<ColumnIndexMetaData> {
    let (physical, bounds): (_, &dyn Fn(usize) -> Option<Bounds>) = match index {
        ColumnIndexMetaData::FLOAT(pages) => (Physical::FLOAT, &|page| of_page(pages, page)),
        ColumnIndexMetaData::DOUBLE(pages) => (Physical::DOUBLE, &|page| of_page(pages, page)),
        other => return Ok(other.clone()),
    };
    let mut outwards = ColumnIndexBuilder::new(physical);
    for page in 0..usize::try_from(index.num_pages()).unwrap_or(0) {
        let is_null = index.is_null_page(page);
        let (least, greatest) = bounds(page).unwrap_or_default();
        outwards.append(is_null, least, greatest, index.null_count(page).unwrap_or(0), Some(0));
        let levels = |histogram: Option<&[i64]>| histogram.map(|counts| LevelHistogram::from(counts.to_vec()));
        let repetition = levels(index.repetition_level_histogram(page));
        outwards.append_histograms(&repetition, &levels(index.definition_level_histogram(page)));
    }
    if let Some(order) = index.get_boundary_order() {
        outwards.set_boundary_order(order);
    }
    outwards.build()
}

/// Least and greatest, as they are laid down.
type Bounds = (Vec<u8>, Vec<u8>);

fn of_page<T: Float>(pages: &PrimitiveColumnIndex<T>, page: usize) -> Option<Bounds> {
    let (least, greatest) = pages.min_value(page).zip(pages.max_value(page))?;
    Some((least.as_least().bytes(), greatest.as_greatest().bytes()))
}

/// A sink that keeps back the end of a file, so that its footer names the order of the type for all columns.
#[derive(Debug)]
pub struct OrderedFooter<W> {
    sink: W,
    end: Option<Vec<u8>>,
}

/// What follows the footer: how long it is, and that this is a Parquet file.
const TRAILER: usize = 8;
/// In Thrift's compact form: the union's first field and its second one, structs without fields.
const BY_TYPE: [u8; 3] = [0x1c, 0, 0];
const IN_TOTAL: [u8; 3] = [0x2c, 0, 0];

impl<W: Write> OrderedFooter<W> {
    pub fn new(sink: W) -> Self {
        Self { sink, end: None }
    }

    /// From now on all is kept back: no row group follows.
    pub fn keep_end(&mut self) {
        self.end.get_or_insert_default();
    }

    /// Writes the end, and gives the sink back. The footer has so many columns.
    pub fn into_inner(mut self, columns: usize) -> Result<W> {
        if let Some(mut end) = self.end.take() {
            let orders = orders(&mut end, columns).ok_or_else(|| {
                ParquetError::General("a footer that does not end in the orders of its columns".into())
            })?;
            orders.iter_mut().for_each(|order| *order = BY_TYPE);
            self.sink.write_all(&end)?;
        }
        Ok(self.sink)
    }
}

/// The last field of the footer, a list.
fn orders(end: &mut [u8], columns: usize) -> Option<&mut [[u8; 3]]> {
    let footer = end.len().checked_sub(TRAILER + 1)?;
    let (before, rest) = end.split_at_mut_checked(footer)?;
    let (_, orders) = before.split_at_mut_checked(before.len().checked_sub(columns * BY_TYPE.len())?)?;
    let (orders, _) = orders.as_chunks_mut::<3>();
    let are_orders = orders.iter().all(|order| [BY_TYPE, IN_TOTAL].contains(order));
    (rest.first() == Some(&0) && are_orders).then_some(orders)
}

impl<W: Write> Write for OrderedFooter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.end {
            Some(end) => end.write(bytes),
            None => self.sink.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_names_the_order_of_the_type() {
        let told = |orders: &[[u8; 3]]| [&[0x19, 0x3c][..], &orders.concat(), &[0], b"1234PAR1"].concat();
        let written = |orders: &[[u8; 3]], columns| {
            let mut sink = OrderedFooter::new(Vec::new());
            sink.write_all(b"rows").unwrap();
            sink.keep_end();
            sink.write_all(&told(orders)).unwrap();
            sink.into_inner(columns)
        };
        let expected = [&b"rows"[..], &told(&[BY_TYPE; 3])].concat();
        assert_eq!(written(&[BY_TYPE, IN_TOTAL, BY_TYPE], 3).unwrap(), expected);
        assert!(written(&[BY_TYPE, [0x3c, 0, 0], BY_TYPE], 3).is_err());
        assert!(written(&[BY_TYPE, IN_TOTAL], 12).is_err());
    }
}
