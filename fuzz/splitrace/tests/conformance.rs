//! The protocol answers what Flink 2.3.0 answered, operation by operation. One test a recorded file; the counts are exact,
//! so that a file that was not read cannot pass. docs/conformance.md repeats the sums.

#[path = "support/recordings.rs"]
mod recordings;

use recordings::replay;

macro_rules! recorded {
    ($($name:ident: $file:literal, $count:literal;)+) => {
        $(
            #[test]
            fn $name() {
                assert_eq!(replay(concat!($file, ".jsonl.gz")), $count);
            }
        )+
    };
}

recorded! {
    tracker_at_random: "tracker", 3900;
    tracker_by_hand: "ops-01-tracker", 54;
    reader_by_hand: "ops-11-reader", 44;
}
