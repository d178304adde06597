//! A question that a tool asks a model beside the conversation: a page to be read, the web to be
//! searched.
//!
//! What answers is not known here. An answer is paid for out of what was set aside for the call, and
//! a tool has to do without one.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_vocabulary::MicroUsd;

pub trait SideModel: fmt::Debug + Send + Sync {
    /// Asks, and answers in time, whatever happens: also that there is no answer has its price.
    fn ask(&self, question: SideQuestion) -> SideAnswerFuture<'_>;
}

pub type SideAnswerFuture<'a> = Pin<Box<dyn Future<Output = SideAnswer> + Send + 'a>>;

#[derive(Clone, Debug)]
pub struct SideQuestion {
    /// Everything there is to say: the model sees nothing else.
    pub prompt: String,
    /// Let the provider search the web for the answer.
    pub search_domains: Option<SideSearchDomains>,
    /// The most it may cost, where money is limited.
    pub allowance: Option<MicroUsd>,
    pub timeout: Duration,
    pub cancel: CancellationToken,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideSearchDomains {
    /// Only these hosts and those below them; all when empty.
    pub allowed: Vec<String>,
    pub blocked: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideAnswer {
    pub answer: Result<String, String>,
    /// The pages it rests on: title and address.
    pub links: Vec<(String, String)>,
    /// What it cost, answered or not.
    pub spent: MicroUsd,
}
