package io.cqring.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks the test that covers a whole kind of fault met in the field. The numbers are those of the project's list
 * {@code field-bugs.md} (in {@code ../shared/reference}): each entry there names the root cause and the test it asks for.
 *
 * <p>On a class it speaks for all tests in it. Each module's FieldBugCoverageTest lists who covers what and fails when a
 * number that the module owes has no test.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface FieldBug {
    /**
     * Numbers of faults in {@code field-bugs.md}.
     *
     * @return one number or more
     */
    int[] value();
}
