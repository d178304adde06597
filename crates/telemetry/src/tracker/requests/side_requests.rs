//! Model requests beside the conversation: summaries, titles, and questions of tools and hooks.

use windlass_driver::ObservedSession;
use windlass_vocabulary::{
    MicroUsd, Millis, ModelFailure, ModelName, ModelRequest, ModelStopReason, Ticket, Usage,
};

use super::super::agent_track::AgentTrack;
use super::super::emission::{Emission, millis_between};
use super::super::subagents::agent_name;
use super::{
    AUXILIARY, FailureFacts, RequestFacts, attribute_agent, begin_request, count_bill,
    describe_server, end_request, gather_facts, provider_name, read_failure,
};
use crate::names;
use crate::record::Attributes;

/// The outcome of a side question.
pub(in crate::tracker) struct EndedSideQuestion<'a> {
    pub(in crate::tracker) model: &'a ModelName,
    pub(in crate::tracker) usage: Usage,
    pub(in crate::tracker) cost: MicroUsd,
    pub(in crate::tracker) took: Millis,
    pub(in crate::tracker) is_answered: bool,
}

pub(in crate::tracker) fn side_request_sent(
    track: &mut AgentTrack,
    session: &ObservedSession,
    ticket: Ticket,
    request: &ModelRequest,
    emission: &mut Emission<'_>,
) {
    let facts = gather_facts(session, request, AUXILIARY, emission);
    let open = begin_request(track, facts, emission);
    track.requests.side.insert(ticket, open);
}

pub(in crate::tracker) fn side_request_ended(
    track: &mut AgentTrack,
    ticket: Ticket,
    failure: Option<&ModelFailure>,
    (usage, cost): (Usage, MicroUsd),
    emission: &mut Emission<'_>,
) {
    let Some(mut open) = track.requests.side.remove(&ticket) else { return };
    if open.facts.is_compaction {
        let by_hand = std::mem::take(&mut track.compaction_is_by_hand);
        let attributes = Attributes::default()
            .text("trigger", if by_hand { "manual" } else { "auto" })
            .text("success", failure.is_none().to_string())
            .count("duration_ms", millis_between(open.span.start, emission.now))
            .count("pre_tokens", usage.input_total().0)
            .count("post_tokens", usage.output.0);
        emission.event(names::COMPACTION, attributes);
    }
    count_bill(&open.facts, usage, cost, emission);
    open.bill = Some((usage, cost));
    match failure {
        Some(failure) => open.failure = Some(read_failure(failure, emission)),
        None => open.stop = Some(ModelStopReason::EndTurn),
    }
    end_request(track, open, emission);
}

pub(in crate::tracker) fn side_question_ended(
    track: &AgentTrack,
    session: &ObservedSession,
    question: &EndedSideQuestion<'_>,
    emission: &mut Emission<'_>,
) {
    let server = session.server_of(question.model);
    let facts = RequestFacts {
        model: question.model.clone(),
        provider: provider_name(server.wire),
        server: describe_server(&server.base_url),
        source: AUXILIARY,
        effort: None,
        output_max: 0,
        agent: Attributes::default(),
        attribution: attribute_agent(session, emission),
        agent_name: agent_name(session, emission.config.content.tool_details),
        is_compaction: false,
    };
    count_bill(&facts, question.usage, question.cost, emission);
    let mut open = begin_request(track, facts, emission);
    open.span.start = emission.now.saturating_sub(question.took.0.saturating_mul(1_000_000));
    open.bill = Some((question.usage, question.cost));
    match question.is_answered {
        true => open.stop = Some(ModelStopReason::EndTurn),
        false => {
            let kind = "side_question_failed".to_owned();
            let message = kind.clone();
            open.failure = Some(FailureFacts { kind, message, status: None, at: emission.now });
        }
    }
    end_request(track, open, emission);
}
