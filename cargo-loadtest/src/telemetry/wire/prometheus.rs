//! Remote write 1.0 of Prometheus: `prompb/remote.proto` and `prompb/types.proto`.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    pub(crate) timeseries: Vec<TimeSeries>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) metadata: Vec<MetricMetadata>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TimeSeries {
    /// Sorted by name.
    #[prost(message, repeated, tag = "1")]
    pub(crate) labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) samples: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) exemplars: Vec<Exemplar>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) histograms: Vec<Histogram>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Message)]
pub(crate) struct Label {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Sample {
    #[prost(double, tag = "1")]
    pub(crate) value: f64,
    /// Milliseconds after 1970.
    #[prost(int64, tag = "2")]
    pub(crate) timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Exemplar {
    #[prost(message, repeated, tag = "1")]
    pub(crate) labels: Vec<Label>,
    #[prost(double, tag = "2")]
    pub(crate) value: f64,
    /// Milliseconds after 1970.
    #[prost(int64, tag = "3")]
    pub(crate) timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Histogram {
    // A choice of two in the original, so that it is there even if it is 0.
    #[prost(uint64, optional, tag = "1")]
    pub(crate) count_int: Option<u64>,
    #[prost(double, tag = "3")]
    pub(crate) sum: f64,
    #[prost(sint32, tag = "4")]
    pub(crate) schema: i32,
    #[prost(double, tag = "5")]
    pub(crate) zero_threshold: f64,
    #[prost(uint64, optional, tag = "6")]
    pub(crate) zero_count_int: Option<u64>,
    #[prost(message, repeated, tag = "11")]
    pub(crate) positive_spans: Vec<BucketSpan>,
    /// The difference of each count to the one before.
    #[prost(sint64, repeated, tag = "12")]
    pub(crate) positive_deltas: Vec<i64>,
    #[prost(int64, tag = "15")]
    pub(crate) timestamp: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct BucketSpan {
    #[prost(sint32, tag = "1")]
    pub(crate) offset: i32,
    #[prost(uint32, tag = "2")]
    pub(crate) length: u32,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct MetricMetadata {
    /// 1 for a counter, 2 for a gauge, 3 for a histogram, 6 for info.
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(string, tag = "2")]
    pub(crate) metric_family_name: String,
    #[prost(string, tag = "4")]
    pub(crate) help: String,
}
