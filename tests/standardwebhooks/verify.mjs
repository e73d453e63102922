// Verifies one request by the official package, as a receiver does: {"secret", "headers", "body"} on the standard input.
// It prints `valid`, or why the request is refused, and then ends with 1.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { secret, headers, body } = JSON.parse(readFileSync(0, "utf8"));
try {
  new Webhook(secret).verify(body, headers);
  console.log("valid");
} catch (error) {
  console.log(`${error.name}: ${error.message}`);
  process.exit(1);
}
