package io.github.reactorratelimit.webflux.fragile;

import io.github.reactorratelimit.LeakyBucket;
import java.time.Duration;
import java.util.List;

/**
 * What the processes of one run do, as their arguments carry it.
 *
 * @param redis where they meet, and where the limit is
 * @param run a name of its own for each run
 * @param server whom they call
 * @param limited whether they ask a limiter before each call
 * @param perSecond what the limiter allows all of them together
 * @param workers how many calls each process would make at the same time
 * @param patience how long one more worker of each process waits for its turn at most; zero for none
 * @param duration they end after this time, unless they are told earlier
 */
record ClientPlan(
        String redis,
        String run,
        String server,
        boolean limited,
        long perSecond,
        int workers,
        Duration patience,
        Duration duration) {

    static ClientPlan of(String[] arguments) {
        return new ClientPlan(
                arguments[0],
                arguments[1],
                arguments[2],
                Boolean.parseBoolean(arguments[3]),
                Long.parseLong(arguments[4]),
                Integer.parseInt(arguments[5]),
                Duration.parse(arguments[6]),
                Duration.parse(arguments[7]));
    }

    List<String> arguments() {
        return List.of(
                redis,
                run,
                server,
                Boolean.toString(limited),
                Long.toString(perSecond),
                Integer.toString(workers),
                patience.toString(),
                duration.toString());
    }

    LeakyBucket policy() {
        return LeakyBucket.perSecond(perSecond);
    }

    /** The number of processes that have warmed up. */
    String readyKey() {
        return run + ":ready";
    }

    /** There once they shall begin. */
    String goKey() {
        return run + ":go";
    }

    /** There once they shall end. */
    String stopKey() {
        return run + ":stop";
    }
}
