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
    holder_at_random: "holder", 8957;
    holder_by_hand: "ops-02-holder", 35;
    holder_with_checkpoints_at_once_by_hand: "ops-03-holder-concurrent", 69;
    holder_with_failures_by_hand: "ops-04-holder-failures", 90;
    source_at_random: "source", 10503;
    source_by_hand: "ops-05-source", 53;
    source_with_checkpoints_by_hand: "ops-06-source-ckpt", 69;
    source_with_failures_by_hand: "ops-07-source-more", 96;
    collector_at_random: "collector", 4953;
    collector_by_hand: "ops-08-collector", 104;
    committer_at_random: "committer", 10592;
    committer_by_hand: "ops-09-committer", 86;
    global_by_hand: "ops-13-global", 33;
    sink_by_hand: "ops-10-sink", 39;
    file_sink_by_hand: "ops-12-filesink", 121;
}
