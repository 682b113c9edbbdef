//! The erase counts of the blocks at the end of a run: the number of blocks with each count, and their places.

use flash::nand::Geometry;
use study::metric::Dimension;
use study::summary::Report;

use super::intervals::{HEAT_COLUMNS, HEAT_ROWS};
use crate::figure::{Axis, Chart, Figure, HeatRow, Number, Scale};

/// The most bars of a histogram.
const BARS: u32 = 40;

/// Both figures; none for a drive without blocks.
pub(super) fn figures(report: &Report<'_>) -> Vec<Figure> {
    let counts = report.erase_counts;
    let histogram = histogram(counts);
    let histogram =
        histogram.map(|chart| Figure::new("Erases", "Erase counts of the blocks at the end of the run.", chart));
    let map = report.geometry.and_then(|geometry| map(geometry, counts));
    let map = map.map(|(chart, merged)| {
        let mean = match merged {
            [1, 1] => "",
            [1, _] => " Blocks beside each other are merged; their colour is that of their mean.",
            _ => " Planes and blocks beside each other are merged; their colour is that of their mean.",
        };
        Figure::new("Wear map", format!("The erase count of each block at the end of the run, by plane.{mean}"), chart)
    });
    histogram.into_iter().chain(map).collect()
}

/// A histogram of the blocks' erase counts; `None` without blocks.
fn histogram(counts: &[u32]) -> Option<Chart> {
    let (least, most) = (*counts.iter().min()?, *counts.iter().max()?);
    let width = (most - least + 1).div_ceil(BARS);
    let mut blocks = vec![0u64; ((most - least) / width + 1) as usize];
    counts.iter().for_each(|count| blocks[((count - least) / width) as usize] += 1);
    let bar = |(i, blocks): (usize, &u64)| {
        let from = f64::from(least) + i as f64 * f64::from(width);
        [from, from + f64::from(width), *blocks as f64].map(Number)
    };
    Some(Chart::Bars {
        x: Axis::new("erases of a block", Dimension::Count, Scale::Linear),
        y: Axis::new("blocks", Dimension::Count, Scale::Linear),
        bars: blocks.iter().enumerate().map(bar).collect(),
    })
}

/// The blocks of each plane from left to right, coloured by their erase counts. The two numbers are the planes and the
/// blocks that are merged into one cell. `None` if the counts do not fit this array.
fn map(geometry: &Geometry, counts: &[u32]) -> Option<(Chart, [usize; 2])> {
    let [planes, stripe, blocks] = [geometry.planes, geometry.stripe, geometry.blocks].map(|number| number as usize);
    if counts.is_empty() || counts.len() != geometry.block_count() as usize {
        return None;
    }
    // Blocks are numbered by die, plane group, block, and plane in the group.
    let of_plane = |row: usize| {
        let (group, plane) = (row / stripe, row % stripe);
        (0..blocks).map(move |block| f64::from(counts[(group * blocks + block) * stripe + plane]))
    };
    let rows = counts.len() / blocks;
    let [down, across] = [rows.div_ceil(HEAT_ROWS), blocks.div_ceil(HEAT_COLUMNS)];
    let name = |row: usize| match planes {
        1 => format!("die {row}"),
        _ => format!("die {}.{}", row / planes, row % planes),
    };
    let row = |first: usize| {
        let last = (first + down).min(rows) - 1;
        let all: Vec<Vec<f64>> = (first..=last).map(|row| of_plane(row).collect()).collect();
        let mean = |from: usize| {
            let until = (from + across).min(blocks);
            let merged = all.iter().flat_map(|plane| &plane[from..until]);
            Number(merged.sum::<f64>() / ((until - from) * all.len()) as f64)
        };
        let name = if first == last { name(first) } else { format!("{}-{}", name(first), &name(last)[4..]) };
        HeatRow { name, values: (0..blocks).step_by(across).map(mean).collect() }
    };
    let rows: Vec<HeatRow> = (0..rows).step_by(down).map(row).collect();
    let edges = (0..blocks).step_by(across).chain([blocks]).map(|block| Number(block as f64)).collect();
    let x =
        Axis { to: Some(Number(blocks as f64)), ..Axis::new("block of the plane", Dimension::Count, Scale::Linear) };
    let of_all = || rows.iter().flat_map(|row| &row.values).map(|value| value.0);
    let cover = Some([of_all().fold(f64::MAX, f64::min), of_all().fold(0.0, f64::max)].map(Number));
    let colours = Axis { cover, ..Axis::new("erases", Dimension::Count, Scale::Linear) };
    Some((Chart::Heat { x, edges, colours, rows }, [down, across]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two dies of four planes with this many blocks; `stripe` planes work together.
    fn geometry(stripe: u32, blocks: u32) -> Geometry {
        Geometry::new(1, 2, 1, 4, stripe, blocks, 8, 1, 8).expect("possible")
    }

    #[test]
    fn each_block_has_its_place_in_its_plane() {
        let geometry = geometry(2, 3);
        // The count of a block encodes its place: plane of all planes, then block of the plane.
        let mut counts = vec![0; geometry.block_count() as usize];
        for superblock in 0..geometry.superblock_count() {
            for plane in 0..2 {
                let superblock = base::units::SuperblockId::new(superblock);
                let block = geometry.block(superblock, plane).get() as usize;
                let group = superblock.get() / 3;
                counts[block] = (group * 2 + plane) * 10 + superblock.get() % 3;
            }
        }
        let (chart, merged) = map(&geometry, &counts).expect("its counts");
        let Chart::Heat { rows, edges, colours, .. } = chart else { panic!("a heat map") };
        assert_eq!((merged, rows.len(), edges.len()), ([1, 1], 8, 4));
        for (plane, row) in rows.iter().enumerate() {
            assert_eq!(row.name, format!("die {}.{}", plane / 4, plane % 4));
            let wanted: Vec<f64> = (0..3).map(|block| (plane * 10 + block) as f64).collect();
            assert_eq!(row.values.iter().map(|value| value.0).collect::<Vec<_>>(), wanted, "{}", row.name);
        }
        assert_eq!(colours.cover, Some([0.0, 72.0].map(Number)));
        assert!(map(&geometry, &counts[1..]).is_none(), "of another array");
    }

    #[test]
    fn many_blocks_are_merged_and_keep_their_mean() {
        let geometry = geometry(1, 400);
        let counts: Vec<u32> = (0..geometry.block_count()).map(|block| block % 5).collect();
        let (Chart::Heat { rows, edges, .. }, merged) = map(&geometry, &counts).expect("its counts") else {
            panic!("heat")
        };
        assert_eq!((merged, rows[0].values.len(), edges.len()), ([1, 3], 134, 135));
        assert_eq!(edges.last(), Some(&Number(400.0)));
        assert_eq!(rows[0].values[1], Number((3.0 + 4.0 + 0.0) / 3.0));
    }
}
