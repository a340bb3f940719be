package io.github.reactorratelimit.redis.next;

import java.util.List;

/**
 * What a self-test of a store found.
 *
 * @param findings the gravest first; empty if all is well
 */
record SelfTest(List<Finding> findings) {

    /** How grave a finding is. */
    public enum Severity {
        /** Decisions fail. */
        ERROR,
        /** Decisions are made, but limits may be exceeded or signals be missed. */
        WARNING,
        /** Something could not be checked. */
        NOTE
    }

    /**
     * One thing to put right.
     *
     * @param severity how grave it is
     * @param message what is wrong, where, and what to set
     */
    public record Finding(Severity severity, String message) {

        @Override
        public String toString() {
            return severity + ": " + message;
        }
    }

    public SelfTest {
        findings = findings.stream()
                .distinct()
                .sorted((one, other) -> one.severity().compareTo(other.severity()))
                .toList();
    }

    /** Whether decisions can be made; there may be warnings. */
    public boolean passed() {
        return findings.stream().noneMatch(finding -> finding.severity() == Severity.ERROR);
    }
}
