package io.github.reactorratelimit.examples.replay;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LogParserTest {

    private static final String COMBINED =
            "203.0.113.7 - ann [10/Oct/2026:13:55:36 -0730] \"GET /a/b?c=d HTTP/1.1\" 200 512"
                    + " \"-\" \"curl/8 [x]\"";

    private static LogRecord parse(String line, LogKey key) {
        return new LogParser(key).parse(line).orElseThrow();
    }

    private static long nanos(String instant) {
        return Instant.parse(instant).getEpochSecond() * 1_000_000_000
                + Instant.parse(instant).getNano();
    }

    @ParameterizedTest
    @CsvSource({"HOST, 203.0.113.7", "USER, ann", "PATH, /a/b", "ALL, all"})
    void combinedLinesCountForWhomIsAsked(LogKey key, String expected) {
        assertThat(parse(COMBINED, key)).isEqualTo(new LogRecord(nanos("2026-10-10T21:25:36Z"), expected));
    }

    @Test
    void theSameTimeInTheNextLineIsReadFromTheLast() {
        LogParser parser = new LogParser(LogKey.HOST);
        long first = parser.parse(COMBINED).orElseThrow().epochNanos();

        assertThat(parser.parse(COMBINED).orElseThrow().epochNanos()).isEqualTo(first);
        assertThat(parser.parse(COMBINED.replace(":36 ", ":37 ")).orElseThrow().epochNanos())
                .isEqualTo(first + 1_000_000_000);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1760000000,alice|1760000000000000000",
                "1760000000.25,alice|1760000000250000000",
                "1760000000250,alice|1760000000250000000",
                "\"1760000000\";\"alice\"|1760000000000000000",
                "2025-10-09T08:53:20Z,alice,ignored|1760000000000000000",
                "2025-10-09T10:53:20+02:00\talice|1760000000000000000",
                "0,alice|0"
            })
    void csvTimesMayBeSecondsMillisecondsOrIso(String line, long epochNanos) {
        assertThat(parse(line, LogKey.HOST)).isEqualTo(new LogRecord(epochNanos, "alice"));
    }

    @Test
    void aCsvMayHaveTitlesQuotesAndNoKeys() {
        LogParser parser = new LogParser(LogKey.HOST);

        assertThat(parser.parse("time,key")).isEmpty();
        assertThat(parser.parse("1,\"a,\"\"b\"\"\"").orElseThrow().key()).isEqualTo("a,\"b\"");
        assertThat(parser.parse("2").orElseThrow().key()).isEqualTo("all");
        assertThat(parser.unreadable()).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "hello",
                "NaN1,alice",
                "1e999999999,alice",
                "1e-999999999,alice",
                "99999999999999999999999999,alice",
                "-9000000000,alice",
                "9000000000,alice",
                "203.0.113.7 - - [10/Oct/2200:13:55:36 +0000] \"GET / HTTP/1.1\" 200 1",
                "203.0.113.7 - - [99/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 1",
                "203.0.113.7 - - [10/Xxx/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 1",
                "203.0.113.7 - - [10/Oct/2026:13:55",
                " [10/Oct/2026:13:55:36 +0000]",
                "[",
                ","
            })
    void whatCannotBeReadIsCountedAndShown(String line) {
        LogParser parser = new LogParser(LogKey.HOST);

        assertThat(parser.parse(line)).isEmpty();
        assertThat(parser.unreadable() == 1 || line.equals(",")).isTrue();
        assertThat(parser.complaint()).contains("no line could be read");
    }

    @Test
    void theFormatOfTheFirstLineIsThatOfAll() {
        LogParser parser = new LogParser(LogKey.HOST);
        parser.parse(COMBINED);

        assertThat(parser.parse("1760000000,alice")).isEmpty();
        assertThat(parser.unreadable()).isEqualTo(1);
    }
}
