//! What stands beside the handlers, collected.

use utoipa::OpenApi;

use crate::{
    api_key, approval, auth, bulk_retry, cancel, csrf, deploy, docs, error, force_transfer, freeze, health, lock, mint,
    openapi, operation, reconcile, recover, restrict, retry, signer, speed_up, unfreeze, unlock, unrestrict, user,
};

/// The interface of the platform, as a portal integrates it.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Muniment",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
        description = "Offerings, subscriptions, tokens and distributions, for portals and operators.\n\n\
            A refusal is `application/problem+json` (RFC 9457); its `code` is stable, and clients decide by it. Money is a string with two \
            decimals. Times are RFC 3339 in UTC. Lists take `page` and `limit`. Paths under `/v1` change only by additions; those under \
            `/blockchain` are for operators and carry no such promise."
    ),
    paths(
        auth::email::resend,
        auth::email::verify,
        auth::jwks,
        auth::login::login,
        auth::login::verify_second_factor,
        auth::me::change,
        auth::me::read,
        auth::password::change,
        auth::password::forgot,
        auth::password::reset,
        auth::refresh::refresh,
        auth::register::register,
        auth::second_factor::confirm,
        auth::second_factor::enrol,
        auth::second_factor::recovery_codes,
        auth::second_factor::remove,
        auth::session::end,
        auth::session::end_others,
        auth::session::list,
        auth::session::logout,
        auth::step_up::step_up,
        api_key::create,
        api_key::list,
        api_key::revoke,
        api_key::rotate,
        approval::decide::approve,
        approval::decide::cancel,
        approval::decide::reject,
        approval::detail,
        approval::list,
        bulk_retry::handle,
        cancel::handle,
        csrf::token,
        deploy::deploy_token,
        docs::page,
        docs::script,
        docs::style,
        force_transfer::force_transfer,
        freeze::freeze,
        health::alive,
        health::ready,
        health::version,
        lock::lock,
        mint::trigger_mint,
        openapi::serve,
        operation::detail,
        operation::list,
        operation::stats,
        reconcile::handle,
        recover::recover,
        restrict::restrict,
        retry::handle,
        signer::list,
        signer::pause,
        signer::resume,
        speed_up::handle,
        unfreeze::unfreeze,
        unlock::unlock,
        unrestrict::unrestrict,
        user::disable,
        user::enable,
        user::invite,
        user::invite_again,
        user::list,
        user::revoke_sessions,
        user::set_roles,
    ),
    components(schemas(error::Body))
)]
pub struct Annotated;
