//! Model requests of tools, outside of the conversation.
//!
//! One request through the same code as any other, collected instead of streamed, without the
//! conversation's messages. It is not retried: a tool without an answer continues without one, or
//! reports that. The cost is returned with the answer, and through the tool's outcome to the
//! engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_dialect::web_search::{
    USES_MAX, WebSearchLink, collect_links, count_searches, search_fee,
};
use windlass_dialect::{DecodedEvent, WebSearchDomains};
use windlass_engine::Settings;
use windlass_tool::side_question::{
    SideAnswer, SideAnswerFuture, SideModel, SideQuestion, SideSearchDomains,
};
use windlass_vocabulary::{
    AgentId, AttemptId, Message, MessageId, MessageOrigin, Messages, MetaKind, MicroUsd,
    ModelFacts, ModelFailure, ModelRequest, RequestSource, ThinkingMode, Tokens,
};

use super::ModelClient;
use super::collected_answer::CollectedAnswer;
use crate::clock;
use crate::observer::Observation;
use crate::panic_guard::catch_panic;

/// Limit on the length of an answer.
const OUTPUT_MAX: Tokens = Tokens(4_000);
/// If the budget allows less than this, the request is not sent.
const OUTPUT_MIN: Tokens = Tokens(300);
/// Input tokens reserved for the pages of a search, because the provider offers no limit to set.
const SEARCH_INPUT_TOKENS: Tokens = Tokens(30_000);
/// A lower bound, because the estimate of tokens must not be too low.
const TOKEN_BYTES_MIN: u64 = 3;

/// Attempts from here on are not part of a conversation; an engine counts up from one.
const FIRST_SIDE_QUESTION_ATTEMPT: u64 = 1 << 62;

pub(crate) struct SessionSideModel {
    model: Arc<ModelClient>,
    reader: ModelFacts,
    searcher: ModelFacts,
    session_models: Vec<ModelFacts>,
    /// Further models that may be requested by name.
    named_models: Arc<[(String, ModelFacts)]>,
    agent: AgentId,
    count: AtomicU64,
}

impl std::fmt::Debug for SessionSideModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asides").field("reader", &self.reader.name).finish_non_exhaustive()
    }
}

impl SideModel for SessionSideModel {
    fn ask(&self, question: SideQuestion) -> SideAnswerFuture<'_> {
        Box::pin(self.ask_model(None, question))
    }
}

impl SessionSideModel {
    /// The model of this name, if the session knows it.
    pub(crate) fn find_model(&self, name: &str) -> Result<&ModelFacts, String> {
        let own = self.session_models.iter().find(|model| model.name.as_str() == name);
        let others = || self.named_models.iter().find(|(known, _)| known == name);
        own.or_else(|| others().map(|(_, model)| model))
            .ok_or_else(|| format!("it wants {name}, which cannot be asked here"))
    }

    /// Asks this model, or the default one.
    pub(crate) async fn ask_model(
        &self,
        asked: Option<&ModelFacts>,
        question: SideQuestion,
    ) -> SideAnswer {
        let facts = match (asked, &question.search_domains) {
            (Some(asked), _) => asked,
            (None, Some(_)) => &self.searcher,
            (None, None) => &self.reader,
        };
        let input = Tokens(question.prompt.len() as u64 / TOKEN_BYTES_MIN + 100);
        let reading =
            if question.search_domains.is_some() { SEARCH_INPUT_TOKENS } else { Tokens(0) };
        let fee = match question.search_domains {
            Some(_) => search_fee(self.model.routes.route_for(&facts.name).dialect.wire()),
            None => MicroUsd(0),
        };
        let fees = multiply_fee(fee, USES_MAX);
        let Some(output) =
            compute_affordable_output(facts, question.allowance, input + reading, fees)
        else {
            let text = Err("there is too little money left for it.".to_owned());
            return SideAnswer { answer: text, links: Vec::new(), spent: MicroUsd(0) };
        };
        let begun = clock::now();
        let mut answer_so_far = SideAnswerBuilder::default();
        let answered =
            catch_panic(self.collect_answer(&question, facts, output, &mut answer_so_far));
        let text = tokio::select! {
            biased;
            () = question.cancel.cancelled() => Err("it was interrupted.".to_owned()),
            answered = clock::timeout(question.timeout, answered) => match answered {
                Ok(Ok(Ok(()))) => Ok(()),
                Ok(Ok(Err(failure))) => Err(failure.message),
                Ok(Err(words)) => Err(format!("a fault inside Windlass: {words}.")),
                Err(_) => Err(format!("no answer within {} s.", question.timeout.as_secs())),
            },
        };
        let searched = multiply_fee(fee, answer_so_far.search_count());
        let usage = answer_so_far.collected.usage;
        let reply = answer_so_far.into_answer(text, facts, input);
        let reply = SideAnswer { spent: reply.spent + searched, ..reply };
        self.model.notice_sender.observe(Observation::SideQuestionEnded {
            model: &facts.name,
            usage,
            cost: reply.spent,
            took: clock::elapsed_since(begun),
            is_answered: reply.answer.is_ok(),
        });
        reply
    }

    /// Uses the small model for reading, and the first one for searching, because only its provider
    /// is known to offer search.
    pub(crate) fn new(
        model: &Arc<ModelClient>,
        settings: &Settings,
        models: &Arc<[(String, ModelFacts)]>,
    ) -> Self {
        let Settings { model: first, fallbacks, small_model, .. } = settings;
        let own = std::iter::once(first).chain(fallbacks).chain(small_model);
        Self {
            session_models: own.cloned().collect(),
            named_models: Arc::clone(models),
            model: Arc::clone(model),
            reader: settings.small_model.as_ref().unwrap_or(&settings.model).clone(),
            searcher: settings.model.clone(),
            agent: settings.agent.id.clone(),
            count: AtomicU64::new(0),
        }
    }

    async fn collect_answer(
        &self,
        question: &SideQuestion,
        facts: &ModelFacts,
        output: Tokens,
        answer_so_far: &mut SideAnswerBuilder,
    ) -> Result<(), ModelFailure> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let mut messages = Messages::default();
        let origin = MessageOrigin::Meta(MetaKind::Context);
        let prompt = Message::user_text(MessageId(0), origin, question.prompt.as_str());
        messages.push(Arc::new(prompt));
        let request = ModelRequest {
            attempt: AttemptId(FIRST_SIDE_QUESTION_ATTEMPT + number),
            model: facts.name.clone(),
            system: Vec::new(),
            tools: Arc::from([]),
            messages,
            output_max: output,
            thinking: ThinkingMode::Unset,
            effort: None,
            source: RequestSource::Aside,
            agent: self.agent.clone(),
            clear_results: None,
            without_reasoning: false,
        };
        let search = question
            .search_domains
            .clone()
            .map(|SideSearchDomains { allowed, blocked }| WebSearchDomains { allowed, blocked });
        answer_so_far.is_sent = true;
        let mut answer = self.model.open_side_question(&request, search.as_ref()).await?;
        loop {
            for piece in answer.next().await {
                if let DecodedEvent::Raw(event) = &piece {
                    collect_links(event, &mut answer_so_far.links);
                    answer_so_far.searches = count_searches(event, answer_so_far.searches);
                }
                if answer_so_far.collected.add(&piece)? {
                    return Ok(());
                }
            }
        }
    }
}

#[derive(Default)]
struct SideAnswerBuilder {
    is_sent: bool,
    collected: CollectedAnswer,
    links: Vec<WebSearchLink>,
    searches: u32,
}

impl SideAnswerBuilder {
    /// If pages were returned there was at least one search, even if the server reports none.
    fn search_count(&self) -> u32 {
        self.searches.max(u32::from(!self.links.is_empty()))
    }

    /// A request that was sent counts as paid for, even if the server reports no usage.
    fn into_answer(self, end: Result<(), String>, facts: &ModelFacts, input: Tokens) -> SideAnswer {
        let CollectedAnswer { text, mut usage } = self.collected;
        if self.is_sent && usage.input_total() == Tokens(0) && end.is_ok() {
            usage.input = input;
        }
        let links = self.links.into_iter().map(|link| (link.title, link.url)).collect();
        SideAnswer { answer: end.map(|()| text), links, spent: facts.prices.cost(&usage) }
    }
}

fn multiply_fee(fee: MicroUsd, count: u32) -> MicroUsd {
    MicroUsd(fee.0.saturating_mul(u64::from(count)))
}

/// The longest answer the budget allows; `None` if it would be too short to be useful.
fn compute_affordable_output(
    facts: &ModelFacts,
    allowance: Option<MicroUsd>,
    input: Tokens,
    fees: MicroUsd,
) -> Option<Tokens> {
    let wanted = OUTPUT_MAX.min(facts.output_max);
    let Some(allowance) = allowance else { return Some(wanted) };
    let sent = u128::from(input.0) * u128::from(facts.prices.max_input_price());
    let sent = MicroUsd(u64::try_from(sent.div_ceil(1_000_000)).unwrap_or(u64::MAX)) + fees;
    if sent > allowance {
        return None;
    }
    let left = u128::from(allowance.less(sent).0) * 1_000_000;
    let output = left.checked_div(u128::from(facts.prices.output)).unwrap_or(u128::MAX);
    let output = Tokens(u64::try_from(output).unwrap_or(u64::MAX)).min(wanted);
    (output >= OUTPUT_MIN).then_some(output)
}
