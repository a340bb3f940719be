package io.github.reactorratelimit.examples.playground;

import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.ErrorResponseException;

/** Something that a page sent cannot be used: answered with 400 and a problem document that names the field. */
public final class BadFieldException extends ErrorResponseException {

    private static final long serialVersionUID = 1L;

    /** The field, and what is wrong with it: {@code ("rate", "must be positive")}. */
    public BadFieldException(String field, String reason) {
        super(HttpStatus.BAD_REQUEST, problem(field, reason), null);
    }

    private static ProblemDetail problem(String field, String reason) {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, field + " " + reason);
        problem.setTitle("A field cannot be used");
        problem.setProperty("field", field);
        return problem;
    }
}
