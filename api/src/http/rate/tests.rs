use chrono::Duration;

use super::*;

fn left(taken: Result<Option<Usage>, (Problem, Usage)>) -> Option<u32> {
    taken.ok().flatten().map(|standing| standing.left)
}

#[test]
fn each_caller_has_a_bucket_that_empties_and_refills() {
    let (limiter, start) = (Limiter::default(), DateTime::UNIX_EPOCH + Duration::days(1));
    let take = |who: &str, seconds: i64| limiter.take("write", who, 6, start + Duration::seconds(seconds));
    for expected in (0..6).rev() {
        assert_eq!(left(take("ada", 0)), Some(expected));
    }
    let (problem, standing) = take("ada", 0).unwrap_err();
    assert_eq!((problem.code, problem.retry_after_seconds(), standing.left), (Code::RateLimited, Some(10), 0));
    assert_eq!(left(take("bruno", 0)), Some(5));
    assert_eq!(left(take("ada", 10)), Some(0));
    assert!(take("ada", 19).is_err());
    assert_eq!(left(take("ada", 300)), Some(5));
}

#[test]
fn quota_of_zero_means_no_limit() {
    let limiter = Limiter::default();
    assert_eq!(limiter.take("read", "ada", 0, DateTime::UNIX_EPOCH).unwrap(), None);
}

#[test]
fn memory_is_bounded_for_any_number_of_callers() {
    let (limiter, now) = (Limiter::default(), DateTime::UNIX_EPOCH + Duration::days(1));
    assert_eq!(left(limiter.take("anonymous", "first", 2, now)), Some(1));
    for number in 0..BUCKETS_MAX + 100 {
        _ = limiter.take("anonymous", &number.to_string(), 2, now);
    }
    assert!(limiter.0.lock().unwrap()["anonymous"].now.len() <= BUCKETS_MAX);
    assert!(limiter.0.lock().unwrap()["anonymous"].before.len() <= BUCKETS_MAX);
    assert_eq!(left(limiter.take("anonymous", "first", 2, now)), Some(0), "one rotation forgets nobody");
    assert_eq!(left(limiter.take("anonymous", "a newcomer", 2, now)), Some(1), "a newcomer has a bucket of one's own");
    assert_eq!(left(limiter.take("user-read", "ada", 600, now)), Some(599), "who is known has a bucket of one's own");
}
