//! A tool's question to a model, outside of the conversation: to read a page, or to search the web.
//!
//! The driver implements it. The cost is paid from the call's reservation, and a tool must be able
//! to continue without an answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_vocabulary::MicroUsd;

pub trait SideModel: fmt::Debug + Send + Sync {
    /// Asks, and always answers in time, because even a failure has a cost to report.
    fn ask(&self, question: SideQuestion) -> SideAnswerFuture<'_>;
}

pub type SideAnswerFuture<'a> = Pin<Box<dyn Future<Output = SideAnswer> + Send + 'a>>;

#[derive(Clone, Debug)]
pub struct SideQuestion {
    /// The complete prompt: the model sees nothing else.
    pub prompt: String,
    /// Lets the provider search the web.
    pub search_domains: Option<SideSearchDomains>,
    /// Limit on the cost, if the session has a budget.
    pub allowance: Option<MicroUsd>,
    pub timeout: Duration,
    pub cancel: CancellationToken,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideSearchDomains {
    /// Only these hosts and their subdomains; all if empty.
    pub allowed: Vec<String>,
    pub blocked: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideAnswer {
    pub answer: Result<String, String>,
    /// The pages used: title and address.
    pub links: Vec<(String, String)>,
    /// The cost, even without an answer.
    pub spent: MicroUsd,
}
