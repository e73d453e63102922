//! Boots the real thing for the tests.
