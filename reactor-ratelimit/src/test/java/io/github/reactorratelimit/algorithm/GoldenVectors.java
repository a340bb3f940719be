package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.RateLimitPolicy;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** Reads the vectors, for whoever runs them. */
public final class GoldenVectors {

    /** When the limiter of every section started. */
    public static final long START = VectorGenerator.START;

    private static final long EXACT_IN_A_DOUBLE = 1L << 53;

    private GoldenVectors() {}

    /** The names of all files. */
    public static List<String> files() {
        URL directory = Objects.requireNonNull(GoldenVectors.class.getResource("/vectors"));
        try (Stream<Path> files = Files.list(Path.of(directory.toURI()))) {
            return files.map(file -> file.getFileName().toString())
                    .map(name -> name.substring(0, name.length() - ".csv".length()))
                    .sorted()
                    .toList();
        } catch (IOException | URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    /** One row: {@code op,now,permits,debited_at,allowed,remaining,retry,reset}. */
    public record Row(
            String line,
            String op,
            long now,
            long permits,
            long debitedAt,
            boolean allowed,
            long remaining,
            long retry,
            long reset) {

        static Row parse(String line) {
            String[] fields = line.split(",", -1);
            return new Row(
                    line,
                    fields[0],
                    number(fields[1]),
                    number(fields[2]),
                    number(fields[3]),
                    fields[4].equals("1"),
                    number(fields[5]),
                    number(fields[6]),
                    number(fields[7]));
        }

        private static long number(String field) {
            if (field.equals("unknown")) {
                return Algorithm.UNKNOWN;
            }
            long value = field.isEmpty() ? 0 : Long.parseLong(field);
            assertThat(value).isBetween(0L, EXACT_IN_A_DOUBLE - 1);
            return value;
        }

        public boolean isRefund() {
            return op.equals("refund");
        }
    }

    /** The steps of one key. */
    public record Section(RateLimitPolicy policy, List<Row> rows) {}

    /** The keys of a file, by its name without ending. */
    public static List<Section> sections(String file) {
        List<Section> sections = new ArrayList<>();
        List<RateLimitPolicy> policies = new ArrayList<>();
        List<Row> rows = List.of();
        for (String line : lines(file)) {
            List<String> fields = Arrays.asList(line.split(","));
            if (fields.get(0).equals("policy") || fields.get(0).equals("part")) {
                policies.add(VectorPolicies.parse(fields.subList(1, fields.size())));
                continue;
            }
            if (!policies.isEmpty()) {
                rows = new ArrayList<>();
                sections.add(new Section(policies.size() == 1 ? policies.get(0) : new CompositePolicy(policies), rows));
                policies = new ArrayList<>();
            }
            rows.add(Row.parse(line));
        }
        return sections;
    }

    private static List<String> lines(String file) {
        try (InputStream in = GoldenVectors.class.getResourceAsStream("/vectors/" + file + ".csv")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank() && !line.startsWith("#"))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
