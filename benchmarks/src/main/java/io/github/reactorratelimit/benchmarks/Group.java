package io.github.reactorratelimit.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmh.annotations.Measurement;

/**
 * Contenders that are compared in one table: one JMH benchmark with fixed parameters.
 *
 * @param name short and stable: a word of the command line and the name of its files
 * @param title one line for readers
 * @param benchmark the class of the benchmark
 * @param method its method
 * @param threads how many threads call it
 * @param parameters of the benchmark, except those for contenders and jars
 * @param contenders in the order of the table
 * @param note what a reader must know about this group; may be empty
 */
public record Group(
        String name,
        String title,
        Class<?> benchmark,
        String method,
        int threads,
        Map<String, String> parameters,
        List<Contender> contenders,
        String note) {

    public Group {
        parameters = Map.copyOf(parameters);
        contenders = List.copyOf(contenders);
    }

    static Group of(String name, String title, Class<?> benchmark, String method, Contender... contenders) {
        return new Group(name, title, benchmark, method, 1, Map.of(), List.of(contenders), "");
    }

    Group with(String parameter, Object value) {
        Map<String, String> more = new TreeMap<>(parameters);
        more.put(parameter, value instanceof Enum<?> constant ? constant.name() : value.toString());
        return new Group(name, title, benchmark, method, threads, more, contenders, note);
    }

    Group with(Contender another) {
        List<Contender> more = new ArrayList<>(contenders);
        more.add(another);
        return new Group(name, title, benchmark, method, threads, parameters, more, note);
    }

    Group onThreads(int count) {
        return new Group(name, title, benchmark, method, count, parameters, contenders, note);
    }

    Group noting(String text) {
        return new Group(name, title, benchmark, method, threads, parameters, contenders, text);
    }

    /** Whether the benchmark itself says how often and how long it runs. */
    boolean hasOwnIterations() {
        return benchmark.isAnnotationPresent(Measurement.class);
    }

    /** Whether another jar of the core can take part: all but what needs the web adapter of the same build. */
    boolean comparesJars() {
        return !name.startsWith("web");
    }

    /** The contenders to run, with the baseline's jar only those that can. */
    List<String> names(boolean withBaseline) {
        return contenders.stream()
                .filter(each -> !withBaseline || each.comparesJars())
                .map(Contender::name)
                .toList();
    }
}
