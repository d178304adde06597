//! The names of model failures for clients.

use windlass_vocabulary::FailureKind;

pub(crate) fn failure_kind_name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Unauthorised => "authentication_failed",
        FailureKind::Quota => "billing_error",
        FailureKind::RateLimited => "rate_limit",
        FailureKind::Overloaded => "overloaded",
        FailureKind::ModelGone => "model_not_found",
        FailureKind::OutputLimit => "max_output_tokens",
        FailureKind::ServerFault | FailureKind::Transport => "server_error",
        FailureKind::PromptTooLong
        | FailureKind::MediaTooLarge
        | FailureKind::BadImage
        | FailureKind::InvalidRequest
        | FailureKind::ForeignSignature
        | FailureKind::Refused
        | FailureKind::Misconfigured => "invalid_request",
    }
}
