use super::*;

fn refused(password: &str) -> bool {
    check("/password", password, "ada.brandt@example.org").is_err()
}

#[test]
fn common_passwords_are_refused() {
    for password in [
        "short",
        "password1234",
        "Password123!",
        "123456789012",
        "aaaaaaaaaaaa",
        "abcdefghijklmnop",
        "qwertyuiop123",
        "ada.brandt2026",
        "adminadminadmin",
        "muniment1234",
    ] {
        assert!(refused(password), "{password}");
    }
    assert!(refused(&"long ".repeat(30)));
    for password in ["correct horse battery", "tränenüberströmt", "9f-K2!vz0Lqa", "日本語のパスワードは長い文"]
    {
        assert!(!refused(password), "{password}");
    }
}

#[tokio::test]
async fn unknown_account_costs_the_same_hash() {
    let auth = Auth { password_memory_kib: 64, ..Auth::default() };
    let passwords = Passwords::new(&auth, [1; 16]).unwrap();
    let stored = passwords.hash("correct horse battery".to_owned(), [2; 16]).await.unwrap();
    let compare = async |password: &str, stored| passwords.compare(password.to_owned(), stored).await.unwrap();
    assert_eq!(compare("correct horse battery", Some(&*stored)).await, Verdict { right: true, outdated: false });
    assert_eq!(compare("correct horse batterz", Some(&*stored)).await, Verdict { right: false, outdated: false });
    assert_eq!(compare("a password that nobody has", None).await, Verdict { right: false, outdated: false });
    let dearer = Passwords::new(&Auth { password_memory_kib: 128, ..Auth::default() }, [1; 16]).unwrap();
    assert!(dearer.compare("correct horse battery".to_owned(), Some(&*stored)).await.unwrap().outdated);
}

#[tokio::test]
async fn logins_above_the_queue_limit_are_refused() {
    let passwords = Passwords::new(&Auth { password_memory_kib: 64, ..Auth::default() }, [1; 16]).unwrap();
    let all = passwords.queue.available_permits();
    let taken = passwords.queue.clone().try_acquire_many_owned(u32::try_from(all).unwrap()).unwrap();
    let refused = passwords.compare("x".to_owned(), None).await.unwrap_err();
    assert_eq!(refused.code, Code::ServiceUnavailable);
    drop(taken);
    passwords.compare("x".to_owned(), None).await.unwrap();
}
