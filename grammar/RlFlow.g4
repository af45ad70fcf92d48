// The .rlflow language, version 1: the only description of its syntax. No embedded actions; every
// alternative is labelled. It is read by ANTLR 4.7 and up.
//
// Two rules of the language stand between lexer and parser (compiler/brackets.cc), because they are about
// brackets and not about phrases:
//  - a newline inside ( ) or [ ] is no token;
//  - a '{', '}', ':' or '->' inside ( ) or [ ] proves that a bracket was left open: it is reported at its
//    opener and closed at the end of its line, so that newlines count again.
grammar RlFlow;

file : NL* header (NL+ decl)* NL* EOF ;
header : 'rlflow' INT ;

decl
    : 'import' STRING 'as' name                                  # importDecl
    | 'param' name ':' name '=' expr ('in' domain)? STRING?      # paramDecl
    | 'group' name '=' name index? settings?                     # groupDecl
    | 'model' name '=' call ('on' qname)? settings?              # modelDecl
    | 'replica' name '=' qname 'on' qname settings?              # replicaDecl
    | 'data' name '=' call settings?                             # dataDecl
    | 'reward' name '=' call settings?                           # rewardDecl
    | 'flow' name block                                          # flowDecl
    ;

domain
    : expr '..' expr                                             # rangeDomain
    | '{' NL* expr ((',' | NL)+ expr)* NL* '}'                   # setDomain
    ;

index
    : '[' expr '..' expr ']'                                     # rangeIndex
    | '[' expr (',' expr)* ','? ']'                              # listIndex
    ;

block : '{' NL* (stmt (NL+ stmt)* NL*)? '}' ;

stmt
    : output (',' output)* '=' call ('on' qname)? ('when' expr)? settings?          # nodeStmt
    | call ('on' qname)? ('when' expr)? settings?                                   # effectStmt
    | 'sync' qname '->' qname 'every' count steps? 'lag' '<='? count settings?      # syncStmt
    | 'every' count steps? ('and' 'at' 'start')? block                              # everyStmt
    | 'stop' 'after' count steps?                                                   # stopStmt
    ;

count
    : INT                                                        # countInt
    | qname                                                      # countName
    | '(' expr ')'                                               # countExpr
    ;
steps : 'step' | 'steps' ;

output : name (':' type)? ;
type : word ('[' name (',' name)* ']')? ;

settings : '{' NL* (setting ((',' | NL)+ setting)* (',' | NL)*)? '}' ;
setting : call | qname ('=' value)? ;
value : expr ('..' expr)? ;

call : qname '(' (arg (',' arg)* ','?)? ')' ;
arg : (name '=')? expr ;

expr
    : '(' expr ')'                                               # parensExpr
    | '-' expr                                                   # negateExpr
    | expr ('*' | '/' | '%') expr                                # multiplyExpr
    | expr ('+' | '-') expr                                      # addExpr
    | expr ('<' | '>' | '<=' | '>=' | '==' | '!=') expr          # compareExpr
    | 'not' expr                                                 # notExpr
    | expr 'and' expr                                            # andExpr
    | expr 'or' expr                                             # orExpr
    | call                                                       # callExpr
    | qname index?                                               # nameExpr
    | (INT | FLOAT) name?                                        # numberExpr
    | STRING                                                     # stringExpr
    | ('true' | 'false')                                         # boolExpr
    | '[' (expr (',' expr)* ','?)? ']'                           # listExpr
    ;

qname : word ('.' word)* ;
// Words that are recognised by position alone are ordinary names.
name : ID | 'rlflow' | 'at' | 'start' | 'after' | 'lag' | 'step' | 'steps' ;
// A reserved word may still stand as a type, a setting or a setting's value.
word : name | 'param' | 'group' | 'model' | 'replica' | 'data' | 'reward' | 'flow' | 'sync' | 'stop' ;

IMPORT : 'import' ;   PARAM : 'param' ;   GROUP : 'group' ;   MODEL : 'model' ;   REPLICA : 'replica' ;
DATA : 'data' ;       REWARD : 'reward' ; FLOW : 'flow' ;     SYNC : 'sync' ;     EVERY : 'every' ;
STOP : 'stop' ;       ON : 'on' ;         WHEN : 'when' ;     IN : 'in' ;         AS : 'as' ;
AND : 'and' ;         OR : 'or' ;         NOT : 'not' ;       TRUE : 'true' ;     FALSE : 'false' ;
RLFLOW : 'rlflow' ;   AT : 'at' ;         START : 'start' ;   AFTER : 'after' ;   LAG : 'lag' ;
STEP : 'step' ;       STEPS : 'steps' ;
LPAREN : '(' ;  RPAREN : ')' ;  LBRACKET : '[' ;  RBRACKET : ']' ;  LBRACE : '{' ;  RBRACE : '}' ;
COMMA : ',' ;   COLON : ':' ;   ASSIGN : '=' ;    ARROW : '->' ;    RANGE : '..' ;  DOT : '.' ;
PLUS : '+' ;    MINUS : '-' ;   TIMES : '*' ;     DIVIDE : '/' ;    MODULO : '%' ;
LESS : '<' ;    GREATER : '>' ; LESS_EQUAL : '<=' ; GREATER_EQUAL : '>=' ; EQUAL : '==' ; NOT_EQUAL : '!=' ;

INT : [0-9] [0-9_]* ('Ki' | 'Mi')? ;
FLOAT : [0-9] [0-9_]* '.' [0-9] [0-9_]* EXPONENT? | [0-9] [0-9_]* EXPONENT ;
fragment EXPONENT : [eE] [+-]? [0-9]+ ;
STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '"' ;
BAD_STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '\\'? ;
ID : [A-Za-z_] [A-Za-z0-9_]* ;
NL : '\r'? '\n' ;
COMMENT : '#' ~[\r\n]* -> channel(HIDDEN) ;
WS : [ \t]+ -> channel(HIDDEN) ;
BAD_CHAR : . ;
