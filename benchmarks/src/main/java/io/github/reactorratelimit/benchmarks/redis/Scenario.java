package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Sample;

/** What a group does with each entrant; keeps what entrants need from round to round. */
interface Scenario {

    Sample round(RedisBench bench, Entrant entrant, Form form) throws Exception;

    double expectedSeconds(Form form);

    void close();
}
