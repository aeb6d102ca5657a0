//! Bounds and orders of synapses.

use super::super::connectivity::tests::connector;
use super::*;

/// Three sources with the targets 2 and 0; nothing; 2, 1 and 2.
const STARTS: [u64; 4] = [0, 2, 2, 5];
const COLUMNS: [u32; 5] = [0, 2, 1, 2, 2];

#[test]
fn synapses_are_found_by_target_as_they_are_by_source() {
    let (starts, synapses) = columns_of(&COLUMNS, 4).unwrap();
    assert_eq!(starts, [0, 1, 2, 5, 5]);
    assert_eq!(synapses, [0, 2, 1, 3, 4]);
    assert_eq!(counts_of(&COLUMNS, 4).unwrap(), [1, 1, 3, 0]);
    let sources = sources_of(&STARTS).unwrap();
    assert_eq!(sources, [0, 0, 2, 2, 2]);
    assert_eq!(in_order(&synapses, &sources).unwrap(), [0, 2, 0, 2, 2]);
    let (starts, synapses) = columns_of(&[], 2).unwrap();
    assert_eq!((starts, synapses.len()), (vec![0, 0, 0], 0));
}

#[test]
fn a_target_has_at_most_what_its_pattern_gives_it() {
    let bound = |pattern: PatternPlan, allow_multapses: bool| {
        let mut made = connector(pattern, 1000, 50);
        made.allow_multapses = allow_multapses;
        in_degree_bound(&made)
    };
    assert_eq!(
        bound(PatternPlan::OneToOne {}, false).to_bits(),
        1.0_f64.to_bits()
    );
    assert_eq!(
        bound(PatternPlan::AllToAll {}, false).to_bits(),
        1000.0_f64.to_bits()
    );
    // Mean, eight standard deviations, and room for small numbers.
    let expected = 100.0 + 8.0 * 90.0_f64.sqrt() + 16.0;
    let tenth = PatternPlan::Probability { probability: 0.1 };
    assert!((bound(tenth.clone(), false) - expected).abs() < 1e-9);
    assert!((bound(PatternPlan::FixedOut { count: 5 }, false) - expected).abs() < 1e-9);
    // No target has more than one synapse of each source, unless sources may connect twice.
    let most = PatternPlan::Probability { probability: 0.99 };
    let expected = 990.0 + 8.0 * 9.9_f64.sqrt() + 16.0;
    assert_eq!(bound(most.clone(), false).to_bits(), 1000.0_f64.to_bits());
    assert!((bound(most, true) - expected).abs() < 1e-9);
    assert_eq!(
        largest_in_degree(&connector(PatternPlan::OneToOne {}, 9, 9)).to_bits(),
        1.0_f64.to_bits()
    );
    assert_eq!(
        largest_in_degree(&connector(PatternPlan::AllToAll {}, 9, 4)).to_bits(),
        9.0_f64.to_bits()
    );
    let degree = largest_in_degree(&connector(tenth, 1000, 50));
    assert!((100.0..200.0).contains(&degree), "{degree}");
}

#[test]
fn bounds_add_up_where_projections_arrive() {
    let mut bound = Bound::new(6).unwrap();
    let range = |first, size| Target {
        group: 0,
        first,
        size,
    };
    bound.add_everywhere(range(1, 3), -0.5, 4.0);
    bound.add_everywhere(range(3, 3), 2.0, 1.5);
    assert_eq!(bound.sums, [0.0, 2.0, 2.0, 5.0, 3.0, 3.0]);
    assert_eq!(bound.terms, 6, "part of an event is one");
    assert!(bound.wide("x").unwrap().is_none());
    assert_eq!(most_of_one_target(&COLUMNS, 4).unwrap(), 3);
    assert_eq!(most_of_one_target(&[], 4).unwrap(), 0);
}

#[test]
fn delays_are_whole_steps_within_what_is_possible() {
    for (seconds, steps) in [(0.0, 0), (0.001, 1), (0.0014, 1), (0.0016, 2), (0.1, 100)] {
        assert_eq!(delay_steps(seconds, 0.001, "p").unwrap(), steps);
    }
    let longest = f64::from(MAX_DELAY_STEPS) * 0.001;
    assert_eq!(delay_steps(longest, 0.001, "p").unwrap(), MAX_DELAY_STEPS);
    for seconds in [-0.001, longest + 0.001, f64::NAN] {
        let text = delay_steps(seconds, 0.001, "p").unwrap_err().to_string();
        assert!(
            text.ends_with(&format!(
                "p has a delay of {seconds} s; with the step 0.001 s delays from 0 to {longest} s are possible"
            )),
            "{text}"
        );
    }
    assert!(check_count("p", u32::MAX as usize).is_ok());
    let text = check_count("p", u32::MAX as usize + 1)
        .unwrap_err()
        .to_string();
    assert!(
        text.ends_with("p has 4294967296 synapses with variables; 4294967295 are possible"),
        "{text}"
    );
}
