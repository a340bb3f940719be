package io.github.reactorratelimit.examples.playground.replay;

import io.github.reactorratelimit.examples.playground.BadFieldException;
import io.github.reactorratelimit.examples.replay.Comparison;
import io.github.reactorratelimit.examples.replay.LogKey;
import io.github.reactorratelimit.examples.replay.LogParser;
import io.github.reactorratelimit.examples.replay.ReplayReport;
import io.github.reactorratelimit.examples.replay.TooManyKeysException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Replays the log in the body of a request; its size and its keys are bounded. */
@RestController
final class ReplayController {

    private static final int MOST_POLICIES = 6;
    private static final long LONGEST_WAIT_MILLIS = Duration.ofHours(1).toMillis();
    private static final int WORST = 10;
    private static final int MOST_KEYS = 100_000;

    @PostMapping(path = "/api/replay", consumes = MediaType.TEXT_PLAIN_VALUE)
    Mono<ReplayReport> replay(
            @RequestBody(required = false) Flux<DataBuffer> log,
            @RequestParam(name = "policy", defaultValue = "") List<String> policies,
            @RequestParam(defaultValue = "host") String key,
            @RequestParam(required = false) @Nullable String maxWaitMillis) {
        Comparison comparison = comparison(policies, maxWaitMillis == null ? null : maxWait(maxWaitMillis));
        LogParser parser = new LogParser(key(key));
        return UploadedLog.read(log)
                .publishOn(Schedulers.boundedElastic())
                .map(uploaded -> run(uploaded.text(), parser, comparison));
    }

    private static ReplayReport run(String log, LogParser parser, Comparison comparison) {
        try {
            log.lines().forEach(line -> parser.parse(line).ifPresent(comparison::add));
        } catch (TooManyKeysException tooMany) {
            throw new BadFieldException("log", "has " + tooMany.getMessage() + "; the replay command takes more");
        }
        ReplayReport report = comparison.report(parser.unreadable(), WORST);
        if (report.requests() == 0) {
            throw new BadFieldException("log", "cannot be used, " + parser.complaint());
        }
        return report;
    }

    private static Comparison comparison(List<String> policies, @Nullable Duration maxWait) {
        if (policies.isEmpty() || policies.size() > MOST_POLICIES) {
            throw new BadFieldException("policy", "must be given 1 to " + MOST_POLICIES + " times");
        }
        try {
            return Comparison.of(policies, maxWait, MOST_KEYS);
        } catch (IllegalArgumentException | ArithmeticException refused) {
            throw new BadFieldException("policy", "cannot be used: " + refused.getMessage());
        }
    }

    private static Duration maxWait(String millis) {
        try {
            long wait = Long.parseLong(millis);
            if (wait >= 0 && wait <= LONGEST_WAIT_MILLIS) {
                return Duration.ofMillis(wait);
            }
        } catch (NumberFormatException notANumber) {
            // Answered below, like one that is out of bounds.
        }
        throw new BadFieldException("maxWaitMillis", "must be a whole number from 0 to " + LONGEST_WAIT_MILLIS);
    }

    private static LogKey key(String key) {
        return Arrays.stream(LogKey.values())
                .filter(each -> each.name().toLowerCase(Locale.ROOT).equals(key))
                .findFirst()
                .orElseThrow(() -> new BadFieldException("key", "must be host, user, path or all"));
    }
}
